#include "tasks/interchange/published_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json.h"
#include "data/chat/chat_format.h"
#include "nn/attention/attention.h"
#include "nn/models/shared/tied_embeddings.h"
#include "nn/models/shared/transformer_keys.h"
#include "tasks/common/models.h"
#include "tokenizer/special_tokens.h"
#include "train/config/key_text.h"
#include "train/run/checkpoint.h"

namespace tapeformer {
namespace {

// Returns the configuration of a run of the model in the folder `out`.
ResolvedConfig imported_config(const PublishedModel& model, const std::filesystem::path& out) {
  Config config = model_config(model.family, model.options, model.tensors->origin()).values();
  config.tokenizer.file = absolute_path(out / "tokenizer.json").string();
  return resolve(config);
}

// Returns the format in which the run stores the model's matrices: bf16 if the files have all of them so, else f32.
WeightFormat format_of(const PublishedModel& published, const TensorMap& map, const ResolvedConfig& config,
                       const ModelVocabulary& vocabulary) {
  if (published.has_new_parameters) return WeightFormat::f32;
  const ShapesOnly no_memory;
  const WeightFormatScope scope(WeightFormat::bf16);
  const std::unique_ptr<Model> model = make_model_with_heads(config, vocabulary);
  return has_all_bf16(model->named_tensors(), map, *published.tensors) ? WeightFormat::bf16 : WeightFormat::f32;
}

}  // namespace

ResolvedConfig model_config(const std::string& family, const std::map<std::string, std::string>& options,
                            const std::string& origin) {
  try {
    Config config;
    apply_override(config, "model.type", family);
    for (const auto& [key, value] : options) apply_override(config, "model." + key, value);
    return resolve(config);
  } catch (const UsageError& error) {
    fail(origin, ": ", error.what());
  }
}

TransformerShape shape_of(const KeyValues& options) {
  const BlockConfig block = block_config(options);
  return {.layers = options.integer("layers"),
          .dim = block.dim,
          .ff_dim = block.ff_dim,
          .heads = block.heads,
          .kv_heads = head_layout(block).keys,
          .head_dim = head_dim(block),
          .qkv_bias = block.bias.attention,
          .out_bias = block.bias.attention_out,
          .ff_bias = block.bias.feed_forward,
          .qk_norm = block.qk_norm,
          .next_sentence = options.has("next_sentence") && options.boolean("next_sentence"),
          .tied = ties_embeddings(options)};
}

std::optional<std::int32_t> template_end_token(const TrainedTextModel& run) {
  if (!is_there(run.run.tokenizer_config())) return std::nullopt;
  return run.tokenizer->special(ChatSettings::beside(run.run.tokenizer()).eos_token);
}

std::optional<std::int32_t> answer_end_token(const TrainedTextModel& run) {
  if (run.config.task.kind == "instructions") {
    const std::int32_t end = ChatFormat(*run.tokenizer, ChatSettings::beside(run.run.tokenizer())).end_token();
    if (end >= 0) return end;
  }
  return template_end_token(run);
}

std::unique_ptr<Tokenizer> with_vocab(std::unique_ptr<Tokenizer> tokenizer, std::int64_t vocab,
                                      const std::string& origin) {
  const std::int64_t size = tokenizer->vocab_size();
  check(size <= vocab, origin, ": the tokenizer has ", size, " tokens, the model ", vocab);
  check(vocab - size <= kMostUnused, origin, ": the tokenizer has ", size, " tokens, the model ", vocab,
        ": expected at most ", kMostUnused, " more");
  if (size == vocab) return tokenizer;
  auto file = parse_json<nlohmann::ordered_json>(tokenizer->to_json());
  for (std::int64_t id = size; id < vocab; ++id) {
    file["added_tokens"].push_back({{"id", id}, {"content", str_cat("<|unused_", id, "|>")}, {"special", true}});
  }
  return Tokenizer::from_json(dump_json(file), origin);
}

void leave_out_zero_biases(PublishedModel& model) {
  const auto is_bias = [](const std::string& name) { return name.ends_with(".bias"); };
  bool has_biases = false;
  for (const auto& tensor : model.tensors->tensors()) {
    if (!is_bias(tensor.first)) continue;
    const Tensor values = model.tensors->read(tensor.first);
    if (std::ranges::any_of(values.span<float>(), [](float value) { return value != 0; })) return;
    has_biases = true;
  }
  if (!has_biases) return;
  model.options["bias"] = "false";
  model.warnings.emplace_back("all biases are zeros: the run's model has none");
  model.map = [is_bias, whole = model.map](const TransformerShape& shape) {
    TensorMap map = whole(shape);
    for (const TensorMapping& row : map.rows) {
      if (is_bias(row.parameter)) map.spare.push_back(row.parts.front().name);
    }
    std::erase_if(map.rows, [&](const TensorMapping& row) { return is_bias(row.parameter); });
    return map;
  };
}

RunFolder import_model(const PublishedModel& published, const std::filesystem::path& out) {
  require_no_run(out);
  const ResolvedConfig config = imported_config(published, out);
  const std::string& origin = published.tensors->origin();
  const ModelVocabulary vocabulary = model_vocabulary(config, *published.tokenizer);
  const auto tensors = static_cast<std::int64_t>(published.tensors->tensors().size());
  const std::int64_t layers = config.model.options.integer("layers");
  check(layers <= tensors, origin, ": it has ", tensors, " tensors, too few for ", layers, " layers");
  const TensorMap map = published.map(shape_of(config.model.options));
  const WeightFormat format = format_of(published, map, config, vocabulary);
  const WeightFormatScope scope(format);
  {
    const ShapesOnly no_memory;
    require_memory(*make_model_with_heads(config, vocabulary), format, origin);
  }
  const std::unique_ptr<Model> model = make_model_with_heads(config, vocabulary);
  if (published.has_new_parameters) model->initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  load_mapped(model->named_tensors(), map, *published.tensors);
  const std::string toml = to_toml(config);
  return create_run(out, toml, {.source = published.tokenizer->to_json(), .target = "", .chat = published.chat},
                    [&](const RunFolder& run) { publish_weights(run, *model, toml); });
}

void require_options(const ResolvedConfig& config, const std::map<std::string, std::string>& options,
                     std::string_view layout) {
  std::map<std::string, std::string> all = options;
  const KeyValues& has = config.model.options;
  for (const char* size : {"dim", "heads", "head_dim"}) all.emplace(size, command_line_text(has.get(size)));
  const KeyValues expected = model_config(config.model.type, all, "export").model.options;
  for (const auto& option : options) {
    const std::string& key = option.first;
    check(has.get(key) == expected.get(key), "export: model.", key, ": expected ", option.second, " for ", layout,
          ", got ", command_line_text(has.get(key)));
  }
}

void require_heads(const ResolvedConfig& config, bool plain, std::string_view layout) {
  const KeyValues& options = config.model.options;
  const std::int64_t dim = options.integer("dim"), heads = options.integer("heads"),
                     width = options.integer("head_dim");
  const auto require = [&](const char* key, std::int64_t expected) {
    const std::int64_t value = options.integer(key);
    check(value == 0 || value == expected, "export: model.", key, ": expected ", expected, " for ", layout, ", got ",
          value);
  };
  if (plain) require("head_dim", dim / heads), require("kv_heads", heads);
  require("value_dim", width > 0 ? width : dim / heads);
}

}  // namespace tapeformer
