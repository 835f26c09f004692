// What one key says about another: defaults that depend on other keys, and rules across keys.
#include <algorithm>

#include "core/error.h"
#include "train/config/config.h"
#include "train/config/config_table.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kPaperWarmup = 4000;       // Vaswani et al. 2017, for runs of 100,000 steps
constexpr std::int64_t kDefaultWarmup = 200;      // for runs of some thousand steps
constexpr double kGptInitStd = 0.02;              // Radford et al. 2019
constexpr std::int64_t kSmallestByteVocab = 257;  // 256 bytes and the end of a text

template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) fail_usage(parts...);
}

// The kinds of training data that the configuration names, each as the user would write it.
std::vector<std::string> data_kinds(const Config::Data& data) {
  std::vector<std::string> kinds;
  if (!data.text.empty()) kinds.push_back("data.text");
  if (!data.source.empty() || !data.target.empty()) kinds.push_back("data.source and data.target");
  if (!data.pairs.empty()) kinds.push_back("data.pairs");
  if (!data.corpus.empty()) kinds.push_back("data.corpus");
  return kinds;
}

void validate_model(const Config::Model& model) {
  require(model.dim % model.heads == 0, "model.heads: expected a divisor of model.dim, which is ", model.dim, ", got ",
          model.heads);
  require(model.position != "sinusoidal" || model.dim % 2 == 0,
          "model.dim: expected an even width for sinusoidal positions, got ", model.dim);
}

void validate_data(const Config& config) {
  const Config::Data& data = config.data;
  const auto kinds = data_kinds(data);
  require(kinds.size() <= 1, "data: expected one kind of training data, got ", kinds.empty() ? "" : kinds[0], " and ",
          kinds.size() > 1 ? kinds[1] : "");
  const auto both_sides = [](const std::string& source, const std::string& target, const char* prefix) {
    require(source.empty() == target.empty(), "data.", prefix, source.empty() ? "source" : "target",
            ": expected a file, since data.", prefix, source.empty() ? "target" : "source", " is given");
  };
  both_sides(data.source, data.target, "");
  both_sides(data.valid_source, data.valid_target, "valid_");
  const auto goes_with = [](bool given, const char* key, bool base_given, const char* base) {
    require(!given || base_given, key, ": expected ", base, " beside it, got none");
  };
  goes_with(!data.valid.empty(), "data.valid", !data.text.empty(), "data.text");
  goes_with(!data.valid_source.empty(), "data.valid_source", !data.source.empty(), "data.source");
  goes_with(!data.valid_pairs.empty(), "data.valid_pairs", !data.pairs.empty(), "data.pairs");

  require(config.tokenizer.target_file.empty() || !config.tokenizer.joint,
          "tokenizer.target_file: expected tokenizer.joint = false beside it, since a joint vocabulary has one file");
  require(config.tokenizer.joint || config.model.tie_embeddings != "all",
          "model.tie_embeddings: all needs tokenizer.joint = true, expected none or output");
  const bool parallel = !data.source.empty() || !data.pairs.empty();
  require(config.model.type != "gpt" || !parallel, "model.type: gpt trains on data.text or data.corpus, got ",
          kinds.empty() ? "" : kinds[0]);
  require(config.model.type != "transformer" || data.text.empty(),
          "model.type: transformer trains on data.source and data.target, data.pairs or data.corpus, got data.text");
  require(!data.within_document || config.model.type == "gpt",
          "data.within_document: expected model.type = gpt beside it, got ", config.model.type);
  require(config.train.batch_tokens == 0 || config.model.type == "transformer",
          "train.batch_tokens: expected 0 for gpt, whose sequences are all as long as model.context, got ",
          config.train.batch_tokens);
  require(config.train.length_groups == 1 || config.model.type == "transformer",
          "train.length_groups: expected 1 for gpt, whose sequences are all as long as model.context, got ",
          config.train.length_groups);
  require(config.train.length_groups == 0 || config.train.accumulate % config.train.length_groups == 0,
          "train.length_groups: expected 0 or a divisor of train.accumulate, which is ", config.train.accumulate,
          ", got ", config.train.length_groups);
}

}  // namespace

Config resolve(Config config) {
  const bool gpt = config.model.type == "gpt";
  const auto choose = [gpt](std::string& value, const char* for_gpt, const char* for_transformer) {
    if (value == "auto") value = gpt ? for_gpt : for_transformer;
  };
  Config::Model& model = config.model;
  choose(model.norm, "pre", "post");
  choose(model.activation, "gelu", "relu");
  choose(model.position, "learned", "sinusoidal");
  choose(model.tie_embeddings, "output", config.tokenizer.joint ? "all" : "output");
  if (gpt && model.tie_embeddings == "all") model.tie_embeddings = "output";  // a gpt has no third embedding
  if (model.ff_dim == 0) model.ff_dim = 4 * model.dim;
  if (model.attention_dropout < 0) model.attention_dropout = model.dropout;
  if (gpt && model.init_std == 0) model.init_std = kGptInitStd;
  if (config.optimizer.name == "adam") config.optimizer.weight_decay = 0;
  if (config.schedule.warmup < 0) config.schedule.warmup = config.schedule.factor > 0 ? kPaperWarmup : kDefaultWarmup;
  if (config.schedule.total == 0) config.schedule.total = config.train.steps;
  if (config.eval.stride == 0) config.eval.stride = model.context;
  if (config.checkpoint.keep > 0) config.checkpoint.keep = std::max(config.checkpoint.keep, config.checkpoint.average);
  return config;
}

void validate(const Config& config) {
  for (const ConfigEntry& entry : config_table()) check_config_value(entry, entry.get(config), "");
  validate_model(config.model);
  validate_data(config);
  const Config::Tokenizer& tokenizer = config.tokenizer;
  require(tokenizer.kind != "bpe" || !tokenizer.file.empty() || tokenizer.vocab >= kSmallestByteVocab,
          "tokenizer.vocab: expected at least ", kSmallestByteVocab, " for bpe (256 bytes and the end of a text), got ",
          tokenizer.vocab);
  const bool has_floor = config.schedule.kind == "cosine" || config.schedule.kind == "linear";
  require(!has_floor || config.schedule.min_lr <= config.optimizer.lr,
          "schedule.min_lr: expected at most optimizer.lr, which is ", config.optimizer.lr, ", got ",
          config.schedule.min_lr);
  require(config.eval.patience == 0 || config.eval.every > 0,
          "eval.patience: expected eval.every above 0 beside it, since patience counts evaluations, got ",
          config.eval.every);
  require(config.eval.stride <= config.model.context, "eval.stride: expected at most model.context, which is ",
          config.model.context, ", got ", config.eval.stride);
}

void require_data(const Config& config) {
  require(!data_kinds(config.data).empty(),
          "data: expected one of data.text, data.source and data.target, data.pairs, data.corpus; got none");
}

}  // namespace tapeformer
