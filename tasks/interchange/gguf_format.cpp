#include "tasks/interchange/gguf_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/json.h"
#include "data/chat/chat_format.h"
#include "nn/formats/gguf.h"
#include "nn/layers/positions.h"
#include "tasks/interchange/huggingface_layout.h"
#include "tokenizer/gguf_vocabulary.h"

namespace tapeformer {
namespace {

namespace fs = std::filesystem;
using Json = HuggingFaceLayout::Json;
using Metadata = std::vector<std::pair<std::string, GgufValue>>;

constexpr const char *kFrequencies = "rope_freqs.weight", *kChatTemplate = "tokenizer.chat_template";

// A key of GGUF's metadata, without the architecture's name before it, and the key of config.json with the same
// meaning.
struct GgufKey {
  const char *theirs, *config;
  bool is_real = false;  // not a whole number
  bool is_optional = false;
};
constexpr GgufKey kGpt2Keys[] = {
    {"context_length", "n_positions"},  {"embedding_length", "n_embd"},
    {"block_count", "n_layer"},         {"feed_forward_length", "n_inner"},
    {"attention.head_count", "n_head"}, {"attention.layer_norm_epsilon", "layer_norm_epsilon", true}};
constexpr GgufKey kLlamaKeys[] = {{"context_length", "max_position_embeddings"},
                                  {"embedding_length", "hidden_size"},
                                  {"block_count", "num_hidden_layers"},
                                  {"feed_forward_length", "intermediate_size"},
                                  {"attention.head_count", "num_attention_heads"},
                                  {"attention.head_count_kv", "num_key_value_heads", false, true},
                                  {"attention.layer_norm_rms_epsilon", "rms_norm_eps", true},
                                  {"rope.freq_base", "rope_theta", true, true},
                                  {"rope.dimension_count", "head_dim", false, true}};

bool is_architecture(std::string_view name) {
  return name == "gpt2" || name == "llama" || name == "qwen2" || name == "qwen3";
}

// The map of an architecture. Among the architectures with rotary positions, only llama rotates neighbouring rows as
// pairs; the others rotate the halves of a head.
TensorMap map_of(const std::string& architecture, const TransformerShape& shape) {
  return architecture == "gpt2" ? gguf_gpt2_map(shape) : gguf_llama_map(shape, architecture == "llama");
}

std::span<const GgufKey> keys_of(const std::string& architecture) {
  if (architecture == "gpt2") return kGpt2Keys;
  return kLlamaKeys;
}

// Returns the shortest decimal that is the same number in single precision: 1e-05 for 9.9999997e-06.
double short_number(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, static_cast<float>(number)).ptr;
  double out = number;
  std::from_chars(text, end, out);
  return out;
}

// The factors by which Llama 3 divides the frequencies of d / 2 pairs of elements.
std::vector<float> llama3_factors(double base, std::int64_t d, const Json& rope) {
  const RotaryScaling scaling{.kind = PositionScaling::llama3,
                              .factor = rope["factor"],
                              .low_freq = rope["low_freq_factor"],
                              .high_freq = rope["high_freq_factor"],
                              .original_context = rope["original_max_position_embeddings"]};
  const std::vector<double> angles = rotary_angles(d, {.base = base});
  const std::vector<double> scaled = rotary_angles(d, {.base = base, .scaling = scaling});
  std::vector<float> factors;
  for (std::size_t i = 0; i < angles.size(); ++i) factors.push_back(static_cast<float>(angles[i] / scaled[i]));
  return factors;
}

// Returns Llama 3's scaling of positions. The file has only the factors that follow from its settings, and only the
// settings of Llama 3.1 and 3.2 are recognised by them.
Json rope_of_factors(const GgufFile& file, const Json& config) {
  const Tensor factors = file.read(kFrequencies);
  const std::span<const float> given = factors.span<float>();
  const Json rope = {{"rope_type", "llama3"},
                     {"factor", short_number(*std::ranges::max_element(given))},
                     {"low_freq_factor", 1.0},
                     {"high_freq_factor", 4.0},
                     {"original_max_position_embeddings", 8192}};
  const std::vector<float> expected =
      llama3_factors(config["rope_theta"], config["head_dim"].get<std::int64_t>(), rope);
  const bool same = std::ranges::equal(given, expected, [](float a, float b) { return std::abs(a - b) <= 1e-4F * b; });
  check(same, file.origin(), ": tensor ", kFrequencies, ": expected the factors of Llama 3.1, got others");
  return rope;
}

void read_rotary(const GgufFile& file, const std::string& architecture, Json& config) {
  const auto name = [&](const char* key) { return str_cat(architecture, ".", key); };
  const std::int64_t heads = config["num_attention_heads"];
  check(heads > 0, file.origin(), ": ", name("attention.head_count"), ": expected 1 or more, got 0");
  if (!config.contains("num_key_value_heads")) config["num_key_value_heads"] = heads;
  const std::int64_t width = config["hidden_size"].get<std::int64_t>() / heads;
  const auto require = [&](const std::string& key, std::int64_t expected) {
    if (!file.has(key)) return;
    const std::int64_t value = file.integer(key);
    check(value == expected, file.origin(), ": ", key, ": expected ", expected, ", got ", value);
  };
  const std::int64_t head_dim =
      file.has(name("attention.key_length")) ? file.integer(name("attention.key_length")) : width;
  require(name("rope.dimension_count"), head_dim);
  require(name("attention.value_length"), head_dim);
  require(name("expert_count"), 0);
  const std::string scale = name("rope.scaling.attn_factor");  // llama.cpp multiplies the rotated elements by it
  const double factor_of_elements = file.has(scale) ? file.number(scale) : 1;
  check(factor_of_elements == 1, file.origin(), ": ", scale, ": expected 1, got ", factor_of_elements);
  config["head_dim"] = head_dim;
  if (!config.contains("rope_theta")) config["rope_theta"] = 10000.0;
  // As in llama.cpp: a factor without a type is linear, old files have it as rope.scale_linear, and 0 is none.
  const std::string type = file.has(name("rope.scaling.type")) ? file.text(name("rope.scaling.type")) : "linear";
  const std::string key = name(file.has(name("rope.scaling.factor")) ? "rope.scaling.factor" : "rope.scale_linear");
  const double factor = file.has(key) ? short_number(file.number(key)) : 0;
  if (type != "none" && (type != "linear" || factor != 0)) {
    config["rope_scaling"] = {{"rope_type", type}, {"factor", factor}};
  }
  if (file.tensors().contains(kFrequencies)) config["rope_scaling"] = rope_of_factors(file, config);
}

// Returns the metadata in the form of Hugging Face's config.json.
Json config_of(const GgufFile& file, const std::string& architecture) {
  Json config = {{"model_type", architecture}, {"tie_word_embeddings", !file.tensors().contains("output.weight")}};
  for (const GgufKey& key : keys_of(architecture)) {
    const std::string name = str_cat(architecture, ".", key.theirs);
    if (key.is_optional && !file.has(name)) continue;
    if (key.is_real) {
      config[key.config] = short_number(file.number(name));
    } else {
      config[key.config] = file.integer(name);
    }
  }
  const std::string causal = architecture + ".attention.causal";
  check(!file.has(causal) || file.boolean(causal), file.origin(), ": ", causal, ": expected true, got false");
  if (architecture != "gpt2") read_rotary(file, architecture, config);
  return config;
}

GgufVocabulary vocabulary_of(const GgufFile& file) {
  const auto key = [](const char* name) { return str_cat("tokenizer.ggml.", name); };
  GgufVocabulary out{.model = file.text(key("model")), .tokens = file.texts(key("tokens"))};
  if (file.has(key("pre"))) out.pre = file.text(key("pre"));
  if (file.has(key("token_type"))) out.types = file.integers(key("token_type"));
  if (file.has(key("scores"))) out.scores = file.numbers(key("scores"));
  if (out.model == "gpt2") out.merges = file.texts(key("merges"));
  const auto id = [&](const char* name) {
    return file.has(key(name)) ? std::optional(file.integer(key(name))) : std::nullopt;
  };
  out.bos = id("bos_token_id"), out.eos = id("eos_token_id"), out.unknown_id = id("unknown_token_id");
  const auto flag = [&](const char* name, bool otherwise) {
    return file.has(key(name)) ? file.boolean(key(name)) : otherwise;
  };
  // What llama.cpp assumes if the file has no key add_bos_token.
  const bool begins = out.model == "llama" || out.pre == "llama-bpe" || out.pre == "llama3";
  out.add_bos = flag("add_bos_token", begins), out.add_eos = flag("add_eos_token", false);
  out.add_space_prefix = flag("add_space_prefix", true);
  return out;
}

// Returns the file's chat template as a run keeps it (RunTokenizers::chat); empty if there is none.
std::string chat_of(const GgufFile& file, const Tokenizer& tokenizer) {
  if (!file.has(kChatTemplate)) return "";
  const auto token = [&](const char* key) {
    const std::int64_t id = file.has(key) ? file.integer(key) : -1;
    const bool known = id >= 0 && id < tokenizer.vocab_size();
    return known ? std::string(tokenizer.token_bytes(static_cast<std::int32_t>(id))) : std::string();
  };
  return ChatSettings{.chat_template = file.text(kChatTemplate),
                      .bos_token = token("tokenizer.ggml.bos_token_id"),
                      .eos_token = token("tokenizer.ggml.eos_token_id")}
      .to_json();
}

PublishedModel read_gguf(const fs::path& path) {
  auto file = std::make_unique<GgufFile>(path);
  const std::string architecture = file->text("general.architecture");
  check(is_architecture(architecture), path.string(), ": general.architecture: ", architecture,
        " is not supported, only gpt2, llama, qwen2 and qwen3");
  PublishedModel model;
  model.family = "gpt";
  try {
    model.options = options_of(layout_of_type(architecture), config_of(*file, architecture));
  } catch (const std::exception& error) {
    const std::string message = error.what();
    fail(message.starts_with(path.string()) ? "" : path.string() + ": ", message);
  }
  const auto embedding = file->tensors().find("token_embd.weight");
  check(embedding != file->tensors().end() && embedding->second.rank() == 2, path.string(),
        ": expected a matrix token_embd.weight, got none");
  model.tokenizer = with_vocab(tokenizer_of(vocabulary_of(*file), path.string()), embedding->second[0], path.string());
  model.chat = chat_of(*file, *model.tokenizer);
  model.map = [architecture](const TransformerShape& shape) {
    TensorMap map = map_of(architecture, shape);
    map.spare.emplace_back(kFrequencies);
    return map;
  };
  // No key says which biases a llama has, only its tensors do.
  if (architecture == "llama") {
    const auto has = [&](const char* name) { return file->tensors().contains(name); };
    model.options["attention_bias"] = !has("blk.0.attn_q.bias")       ? "false"
                                      : has("blk.0.attn_output.bias") ? "true"
                                                                      : "qkv";
    model.options["ff_bias"] = has("blk.0.ffn_up.bias") ? "true" : "false";
  }
  model.tensors = std::move(file);
  if (architecture == "gpt2") leave_out_zero_biases(model);
  return model;
}

bool is_gguf(const fs::path& path) {
  if (!is_file(path)) return false;
  const InputFile file(path);
  std::string magic(std::min<std::int64_t>(file.size(), 4), '\0');
  file.read_at(0, magic);
  return magic == "GGUF" || path.extension() == ".gguf";
}

void add_vocabulary(const GgufVocabulary& vocabulary, Metadata& metadata) {
  const auto add = [&](const char* name, GgufValue value) {
    metadata.emplace_back(str_cat("tokenizer.ggml.", name), std::move(value));
  };
  add("model", vocabulary.model), add("pre", vocabulary.pre);
  add("tokens", vocabulary.tokens);
  add("token_type", vocabulary.types);
  if (vocabulary.model == "gpt2") {
    add("merges", vocabulary.merges);
  } else {
    add("scores", vocabulary.scores);
    add("add_space_prefix", vocabulary.add_space_prefix);
  }
  const auto add_id = [&](const char* name, const std::optional<std::int64_t>& id) {
    if (id) add(name, static_cast<std::uint32_t>(*id));
  };
  add_id("bos_token_id", vocabulary.bos), add_id("eos_token_id", vocabulary.eos);
  add_id("eot_token_id", vocabulary.eot), add_id("unknown_token_id", vocabulary.unknown_id);
  add("add_bos_token", vocabulary.add_bos);
  add("add_eos_token", vocabulary.add_eos);
}

// A value of --type, GGUF's name of the tensor type, and llama.cpp's number of the file type (general.file_type).
struct FileType {
  std::string_view word, name;
  std::uint32_t number;
};
constexpr FileType kFileTypes[] = {{"f32", "F32", 0}, {"f16", "F16", 1}, {"bf16", "BF16", 32}, {"q8_0", "Q8_0", 7}};

Metadata metadata_of(const Json& config, const std::string& architecture, const FileType& type) {
  Metadata metadata = {{"general.architecture", architecture}, {"general.file_type", type.number}};
  if (type.word == "q8_0") metadata.emplace_back("general.quantization_version", std::uint32_t{2});
  for (const GgufKey& key : keys_of(architecture)) {
    const Json& value = config[key.config];
    std::string name = str_cat(architecture, ".", key.theirs);
    if (value.is_number_float()) {
      metadata.emplace_back(std::move(name), value.get<float>());
    } else {
      metadata.emplace_back(std::move(name), value.get<std::uint32_t>());
    }
  }
  if (architecture != "gpt2") {
    const auto name = [&](const char* key) { return str_cat(architecture, ".", key); };
    for (const char* key : {"attention.key_length", "attention.value_length"})
      metadata.emplace_back(name(key), config["head_dim"].get<std::uint32_t>());
    const Json& rope = config["rope_scaling"];
    const Json scaling = rope.is_object() ? rope["rope_type"] : Json("none");
    // llama.cpp reads no file of another architecture that has the factors.
    check(scaling != "llama3" || architecture == "llama",
          "export: model.position_scaling: expected none or linear for GGUF's ", architecture, ", got llama3");
    if (scaling == "linear") {
      metadata.emplace_back(name("rope.scaling.type"), std::string("linear"));
      metadata.emplace_back(name("rope.scaling.factor"), rope["factor"].get<float>());
    }
  }
  return metadata;
}

std::vector<std::string> write_gguf_model(const TrainedTextModel& run, const fs::path& out, const std::string& word) {
  const HuggingFaceLayout& layout = layout_for(run.config);
  const std::string& architecture = layout.model_type;
  check(is_architecture(architecture), "export: GGUF is written of the layouts of GPT-2, Llama and Qwen, got ",
        layout.text);
  std::vector<std::string> warnings;
  const Json config = config_json(layout, run.config, run.tokenizer->vocab_size());
  const auto require = [&](const char* key, const Json& expected) {
    check(!config.contains(key) || config[key] == expected, "export: ", key, ": expected ", dump_json(expected),
          " for GGUF, got ", dump_json(config.value(key, Json())));
  };
  // llama.cpp reads the biases of a llama if the file has any, but it reads none of a qwen3.
  if (architecture != "llama") require("attention_bias", false);
  require("scale_attn_weights", true);
  if (architecture == "gpt2" && config["activation_function"] != "gelu") require("activation_function", "gelu_new");
  // No key of the file says which GELU it is.
  if (architecture == "gpt2" && config["activation_function"] == "gelu")
    warnings.emplace_back("model.activation: gelu becomes gelu_tanh, the only GELU of a gpt2 in llama.cpp");
  const FileType& type = *std::ranges::find(kFileTypes, word, &FileType::word);
  Metadata metadata = metadata_of(config, architecture, type);
  try {
    GgufVocabulary vocabulary = gguf_vocabulary(*run.tokenizer, warnings);
    if (const auto end = template_end_token(run)) vocabulary.eos = *end;
    if (const auto end = answer_end_token(run); end != vocabulary.eos) vocabulary.eot = end;
    add_vocabulary(vocabulary, metadata);
  } catch (const Error& error) {
    fail("export: ", error.what());
  }
  if (is_there(run.run.tokenizer_config())) {
    metadata.emplace_back(kChatTemplate, ChatSettings::beside(run.run.tokenizer()).chat_template);
  }
  const TransformerShape shape = shape_of(run.config.model.options);
  const TensorMap map = map_of(architecture, shape);
  NamedTensors tensors = mapped_tensors(run.model->named_tensors(), map);
  const Json rope = config.value("rope_scaling", Json());
  if (rope.is_object() && rope["rope_type"] == "llama3") {
    const std::vector<float> factors = llama3_factors(config["rope_theta"], shape.head_dim, rope);
    tensors.emplace_back(kFrequencies, Tensor::from(std::span<const float>(factors), {std::ssize(factors)}));
  }
  std::vector<GgufTensor> typed;
  for (const auto& [name, tensor] : tensors) {
    const GgufType& wanted = gguf_type(type.name);
    // llama.cpp keeps vectors and positions in F32. A matrix whose rows are not whole blocks is written in F16.
    const bool plain = tensor.rank() == 1 || name == "position_embd.weight";
    const bool whole = tensor.size(-1) % wanted.values == 0;
    typed.push_back({name, tensor.to(DType::f32), &(plain ? gguf_type("F32") : whole ? wanted : gguf_type("F16"))});
  }
  write_gguf(out, metadata, typed);
  return warnings;
}

}  // namespace

PublishedFormat gguf_format() {
  PublishedFormat format{.name = "gguf",
                         .help = "a GGUF file of llama.cpp",
                         .types = {},
                         .is_at = is_gguf,
                         .read = read_gguf,
                         .write = write_gguf_model};
  for (const FileType& type : kFileTypes) format.types.emplace_back(type.word);
  return format;
}

}  // namespace tapeformer
