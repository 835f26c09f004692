// GGUF files: what is exported imports again, and what does not fit is refused by name.
#include <cmath>

#include "data/chat/chat_format.h"
#include "nn/formats/gguf.h"
#include "tests/train/interchange/support.h"

using namespace tapeformer;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Metadata = std::vector<std::pair<std::string, GgufValue>>;

const PublishedFormat& gguf() { return published_formats().at(1); }

// A golden model of Hugging Face as a run; `changes` is a merge patch of its config.json.
struct ImportedModel : TempFolder {
  explicit ImportedModel(const std::string& name, const Json& changes = Json::object()) {
    const fs::path folder = path / "hf";
    fs::copy(kGolden / name, folder);
    fs::copy_file(kGolden / "tokenizer.json", folder / "tokenizer.json");
    Json config = Json::parse(read_all(folder / "config.json"));
    config.merge_patch(changes);
    write("hf/config.json", config.dump());
    import_model(read_published(folder), path / "run");
  }
  TrainedTextModel run(const std::string& name = "run") const { return load_run<TrainedTextModel>({path / name}, {}); }
  // Exports the run and imports the file again, as the run `type`.
  fs::path back(const std::string& type) const {
    const fs::path file = path / (type + ".gguf");
    gguf().write(run(), file, type);
    import_model(read_published(file), path / type);
    return file;
  }
  std::map<std::string, std::vector<float>> values(const std::string& name) const {
    return values_of(RunFolder{path / name});
  }
};

// The error of importing a file of the model with one more key.
std::string message_with(const ImportedModel& model, const std::string& key, const GgufValue& value) {
  const fs::path plain = model.path / "plain.gguf", path = model.path / "more.gguf";
  gguf().write(model.run(), plain, "f32");
  const GgufFile file(plain);
  std::vector<GgufTensor> tensors;
  for (const auto& tensor : file.tensors())
    tensors.push_back({tensor.first, file.read(tensor.first), &file.type(tensor.first)});
  Metadata metadata(file.metadata().begin(), file.metadata().end());
  metadata.emplace_back(key, value);
  write_gguf(path, metadata, tensors);
  const std::string message = message_of([&] { import_model(read_published(path), model.path / "more"); });
  fs::remove_all(model.path / "more");
  return message.starts_with(path.string() + ": ") ? message.substr(path.string().size() + 2) : message;
}

// A file of the architecture with its metadata but for one key, and one tensor.
std::string message_for(const TempFolder& folder, const Metadata& metadata) {
  const fs::path path = folder.path / "a.gguf";
  write_gguf(path, metadata, {{"token_embd.weight", Tensor::full({3, 8}, DType::f32, 1), &gguf_type("F32")}});
  const std::string message = message_of([&] { import_model(read_published(path), folder.path / "run"); });
  CHECK_FALSE(fs::exists(folder.path / "run"));
  return message.starts_with(path.string() + ": ") ? message.substr(path.string().size() + 2) : "elsewhere: " + message;
}

}  // namespace

TEST_CASE("gguf: an exported model imports with the same values, options and tokens") {
  for (const std::string name : {"gpt2", "llama", "llama-tied", "qwen2", "qwen3"}) {
    CAPTURE(name);
    // This model's positions are scaled in llama3's way, but by other factors than Llama 3.1's, which no import knows.
    const ImportedModel model(name,
                              Json::parse(name == "llama" ? R"({"rope_parameters": {"rope_type": "default"}})" : "{}"));
    model.back("f32");
    CHECK((model.values("f32") == model.values("run")));
    const TrainedTextModel before = model.run(), after = model.run("f32");
    for (const char* key : {"dim", "heads", "layers", "ff_dim", "context", "norm_eps", "position", "norm_kind"})
      CHECK(before.config.model.options.get(key) == after.config.model.options.get(key));
    CHECK(after.tokenizer->encode("ab ba") == before.tokenizer->encode("ab ba"));
    const auto expected = read_safetensors(kGolden / name / "expected.safetensors");
    const Tensor logits = outputs_of(*before.model, expected).at("logits");
    for (const auto& [type, most] : {std::pair{"f16", 5e-3}, {"bf16", 5e-2}, {"q8_0", 5e-2}}) {
      model.back(type);
      CHECK(largest_difference(outputs_of(*model.run(type).model, expected).at("logits"), logits) < most);
      const auto weights = read_safetensors(checkpoint_weights(RunFolder{model.path / type}.checkpoint(0)));
      const bool keeps_bf16 = std::string_view(type) == "bf16";
      CHECK(weights.at("token_embedding.weight").dtype() == (keeps_bf16 ? DType::bf16 : DType::f32));
    }
  }
}

TEST_CASE("gguf: the chat template of a run is in the file, and an import keeps it with its special tokens") {
  const ImportedModel model("qwen2");
  const std::string settings = R"({"chat_template": "{% for m in messages %}{{ m.content + eos_token }}{% endfor %}"})";
  model.write("run/tokenizer_config.json", settings);
  const GgufFile file(model.back("f32"));
  const ChatSettings before = ChatSettings::from_json(settings, "run"),
                     after = ChatSettings::beside(model.run("f32").run.tokenizer());
  CHECK(file.text("tokenizer.chat_template") == before.chat_template);
  CHECK(after.chat_template == before.chat_template);
  const TrainedTextModel run = model.run();
  const Tokenizer& tokenizer = *run.tokenizer;
  REQUIRE(file.has("tokenizer.ggml.eos_token_id"));
  CHECK(after.eos_token ==
        tokenizer.token_bytes(static_cast<std::int32_t>(file.integer("tokenizer.ggml.eos_token_id"))));
}

TEST_CASE("gguf: an export says that another GELU is computed by those who read the file") {
  const auto warnings = [](const char* activation) {
    const ImportedModel model("gpt2", Json{{"activation_function", activation}});
    return gguf().write(model.run(), model.path / "a.gguf", "f32");
  };
  const std::string gelu = "model.activation: gelu becomes gelu_tanh, the only GELU of a gpt2 in llama.cpp";
  CHECK(std::ranges::count(warnings("gelu"), gelu) == 1);
  CHECK(std::ranges::count(warnings("gelu_new"), gelu) == 0);
}

TEST_CASE("gguf: scaled rotary positions") {
  const Json linear =
      Json::parse(R"({"rope_scaling": {"rope_type": "linear", "factor": 4.0}, "rope_parameters": null})");
  const Json llama3 = Json::parse(R"({"rope_parameters": null, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}, "rope_theta": 500000.0})");
  for (const Json& changes : {linear, llama3}) {
    const ImportedModel model("llama-tied", changes);
    const GgufFile file(model.back("f32"));
    CHECK(file.tensors().contains("rope_freqs.weight") == (changes == llama3));
    const TrainedTextModel imported = model.run(), back = model.run("f32");
    const KeyValues &before = imported.config.model.options, &after = back.config.model.options;
    for (const char* key : {"position_base", "position_scaling", "position_factor"})
      CHECK(before.get(key) == after.get(key));
  }
}

TEST_CASE("gguf: positions scaled as in Llama 3 are refused for a qwen, of which llama.cpp does not read the factors") {
  const Json llama3 = Json::parse(R"({"rope_parameters": null, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})");
  for (const std::string name : {"qwen2", "qwen3"}) {
    const ImportedModel model(name, llama3);
    const fs::path out = model.path / "out.gguf";
    CHECK(message_of([&] { gguf().write(model.run(), out, "f32"); }) ==
          str_cat("export: model.position_scaling: expected none or linear for GGUF's ", name, ", got llama3"));
    CHECK_FALSE(fs::exists(out));
  }
}

TEST_CASE("gguf: a factor of positions without a type is linear, also by the key of old files, and 0 is none") {
  const ImportedModel model(
      "llama-tied", Json::parse(R"({"rope_parameters": null, "rope_scaling": {"type": "linear", "factor": 4.0}})"));
  const GgufFile file(model.back("f32"));
  std::vector<GgufTensor> tensors;
  for (const auto& tensor : file.tensors())
    tensors.push_back({tensor.first, file.read(tensor.first), &file.type(tensor.first)});
  const std::string type = "llama.rope.scaling.type", factor = "llama.rope.scaling.factor";
  REQUIRE(file.text(type) == "linear");
  REQUIRE(file.number(factor) == 4);
  // Writes the file with the factor under another key and without the type, and imports it.
  const auto scaling = [&](const std::string& run, const std::string& key, float value) {
    Metadata metadata = {{key, value}};
    for (const auto& entry : file.metadata()) {
      if (entry.first != type && entry.first != factor) metadata.emplace_back(entry);
    }
    const fs::path path = model.path / (run + ".gguf");
    write_gguf(path, metadata, tensors);
    import_model(read_published(path), model.path / run);
    const TrainedTextModel imported = model.run(run);
    const KeyValues& options = imported.config.model.options;
    return std::pair(options.text("position_scaling"), options.number("position_factor"));
  };
  CHECK((scaling("new", factor, 4) == std::pair<std::string, double>("linear", 4)));
  CHECK((scaling("old", "llama.rope.scale_linear", 4) == std::pair<std::string, double>("linear", 4)));
  CHECK((scaling("zero", "llama.rope.scale_linear", 0) == std::pair<std::string, double>("none", 1)));
}

TEST_CASE("gguf: a factor of rotated elements is refused") {
  const ImportedModel llama("llama-tied");
  const std::string key = "llama.rope.scaling.attn_factor";
  CHECK(message_with(llama, key, 1.0F) == "none");
  CHECK(message_with(llama, key, 1.5F) == key + ": expected 1, got 1.5");
}

TEST_CASE("gguf: a model whose tokens see those behind them is refused") {
  const ImportedModel gpt2("gpt2"), llama("llama-tied");
  CHECK(message_with(gpt2, "gpt2.attention.causal", true) == "none");
  CHECK(message_with(gpt2, "gpt2.attention.causal", false) == "gpt2.attention.causal: expected true, got false");
  CHECK(message_with(llama, "llama.attention.causal", false) == "llama.attention.causal: expected true, got false");
}

TEST_CASE("gguf: models and files that do not fit are refused by name") {
  const ImportedModel bert("bert"), unscaled("gpt2-erf");
  const fs::path out = bert.path / "out.gguf";
  CHECK(message_of([&] { gguf().write(unscaled.run(), out, "f32"); }) ==
        "export: scale_attn_weights: expected true for GGUF, got false");
  CHECK(message_of([&] { gguf().write(bert.run(), out, "f32"); }) ==
        "export: GGUF is written of the layouts of GPT-2, Llama and Qwen, got BERT's layout");
  CHECK_FALSE(fs::exists(out));

  const TempFolder folder;
  Metadata metadata = {{"general.architecture", std::string("gpt2")}};
  const auto add = [&](const char* key, GgufValue value) { metadata.emplace_back(key, std::move(value)); };
  CHECK(message_for(folder, {{"general.architecture", std::string("bert")}}) ==
        "general.architecture: bert is not supported, only gpt2, llama, qwen2 and qwen3");
  CHECK(message_for(folder, metadata) == "the key gpt2.context_length is missing");
  for (const char* key :
       {"context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count"})
    add(str_cat("gpt2.", key).c_str(), std::uint32_t{key[0] == 'b' ? 1U : 8U});
  add("gpt2.attention.layer_norm_epsilon", NAN);
  CHECK(message_for(folder, metadata) == "gpt2.attention.layer_norm_epsilon: expected a finite number of f32, got nan");
  metadata.back().second = 1e-5F;
  metadata[1].second = 8.5F;
  CHECK(message_for(folder, metadata) == "gpt2.context_length: expected a whole number, 0 or more");
  metadata[1].second = std::uint32_t{8};
  CHECK(message_for(folder, metadata) == "the key tokenizer.ggml.model is missing");
  add("tokenizer.ggml.model", std::string("gpt2"));
  add("tokenizer.ggml.pre", std::string("gpt-2"));
  add("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  CHECK(message_for(folder, metadata) == "the key tokenizer.ggml.tokens is missing");
  add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "c"});
  CHECK(message_for(folder, metadata) == "the tokenizer has 4 tokens, the model 3");
  std::get<std::vector<std::string>>(metadata.back().second).pop_back();
  CHECK(message_for(folder, metadata).find("position_embd.weight") != std::string::npos);
  std::get<std::uint32_t>(metadata[1].second) = 0;
  CHECK(message_for(folder, metadata).find("context") != std::string::npos);
}
