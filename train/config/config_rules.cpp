// What one key says about another: defaults that follow other keys, and rules across keys.
#include <algorithm>

#include "core/error.h"
#include "nn/optim/optimizers.h"
#include "train/config/config.h"
#include "train/config/config_table.h"
#include "train/config/key_text.h"
#include "train/config/matmul_config.h"
#include "train/tasks/task.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kPaperWarmup = 4000;       // Vaswani et al. 2017, for runs of 100,000 steps
constexpr std::int64_t kDefaultWarmup = 200;      // for runs of a few thousand steps
constexpr std::int64_t kSmallestByteVocab = 257;  // 256 bytes and the end of a text

template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) fail_usage(parts...);
}

// The kinds of training data that the configuration names, each as the user would write it.
std::vector<std::string> data_kinds(const Config::Data& data) {
  std::vector<std::string> kinds;
  if (!data.text.empty()) kinds.push_back("data.text");
  if (!data.source.empty() || !data.target.empty())
    kinds.push_back(data.source.empty() ? "data.target" : "data.source");
  if (!data.pairs.empty()) kinds.push_back("data.pairs");
  if (!data.labels.empty()) kinds.push_back("data.labels");
  if (!data.corpus.empty()) kinds.push_back("data.corpus");
  return kinds;
}

void check_data(const Config::Data& data) {
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
  goes_with(!data.valid_labels.empty(), "data.valid_labels", !data.labels.empty(), "data.labels");
}

// What the kind of data that the model's family reads says about data and batches.
void check_data_of(const ModelFamily& family, const Config& config) {
  const Config::Data& data = config.data;
  if (family.reads_pairs()) {
    require(data.text.empty(), "model.type: ", family.name,
            " trains on data.source and data.target, data.pairs or data.corpus, got data.text");
    require(!data.within_document, "data.within_document: expected a language model as model.type beside it, got ",
            family.name);
    return;
  }
  const auto kinds = data_kinds(data);
  require(data.source.empty() && data.pairs.empty(), "model.type: ", family.name,
          " trains on data.text or data.corpus, got ", kinds.empty() ? "" : kinds[0]);
  require(config.train.batch_tokens == 0, "train.batch_tokens: expected 0 for ", family.name,
          ", whose sequences are all as long as model.context, got ", config.train.batch_tokens);
  require(config.train.length_groups == 1, "train.length_groups: expected 1 for ", family.name,
          ", whose sequences are all as long as model.context, got ", config.train.length_groups);
}

void check_task(const ModelFamily& family, const Config& config) {
  const Config::Task& task = config.task;
  const auto kinds = data_kinds(config.data);
  if (task.kind == kNoTask) {
    require(config.data.labels.empty(), "data.labels: expected task.kind beside it, got none");
    return;
  }
  require(!family.reads_pairs(), "task.kind: expected none for ", family.name,
          ", which gives no vectors of the tokens of a text, got ", task.kind);
  require(kinds.empty() || !config.data.labels.empty(), "task.kind: ", task.kind, " trains on data.labels, got ",
          kinds.empty() ? "" : kinds[0]);
  require(config.eval.batches == 0, "eval.batches: expected 0 beside task.kind, whose measures are of all validation ",
          "data, got ", config.eval.batches);
  require(!task.freeze || task.layer_decay == 1, "task.layer_decay: expected 1 beside task.freeze, since no layer ",
          "learns, got ", task.layer_decay);
  require(task.class_weights == ClassWeights::none || (config.train.label_smoothing == 0 && config.train.z_loss == 0),
          "task.class_weights: expected none beside train.label_smoothing and train.z_loss, got ",
          word_of(task.class_weights));
  require(task.class_weights == ClassWeights::none || !find_task(task.kind).points,
          "task.class_weights: expected none for ", task.kind, ", which has no labels of its own, got ",
          word_of(task.class_weights));
}

void check_tokenizer(const Config::Tokenizer& tokenizer) {
  require(tokenizer.target_file.empty() || !tokenizer.joint,
          "tokenizer.target_file: expected tokenizer.joint = false beside it, since a joint vocabulary has one file");
  require(tokenizer.kind != TokenizerKind::bpe || !tokenizer.file.empty() || tokenizer.vocab >= kSmallestByteVocab,
          "tokenizer.vocab: expected at least ", kSmallestByteVocab, " for bpe (256 bytes and the end of a text), got ",
          tokenizer.vocab);
}

// Whether the learning rate ends at schedule.min_lr.
bool has_floor(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::cosine:
    case ScheduleKind::linear:
      return true;
    case ScheduleKind::inverse_sqrt:
    case ScheduleKind::constant:
    case ScheduleKind::plateau:
      return false;
  }
  return false;
}

void check_rules(const Config& config, const ResolvedConfig& resolved) {
  check_data(config.data);
  check_tokenizer(config.tokenizer);
  check_data_of(resolved.family(), config);
  check_task(resolved.family(), config);
  require(config.train.length_groups == 0 || config.train.accumulate % config.train.length_groups == 0,
          "train.length_groups: expected 0 or a divisor of train.accumulate, which is ", config.train.accumulate,
          ", got ", config.train.length_groups);
  require(!has_floor(config.schedule.kind) || config.schedule.min_lr <= config.optimizer.lr,
          "schedule.min_lr: expected at most optimizer.lr, which is ", config.optimizer.lr, ", got ",
          config.schedule.min_lr);
  require(config.schedule.factor == 0 || resolved.model_dim(), "schedule.factor: expected 0, since ",
          resolved.model.type, " has no key model.dim, got ", config.schedule.factor);
  require(config.eval.patience == 0 || config.eval.every > 0,
          "eval.patience: expected eval.every above 0 beside it, since patience counts evaluations, got ",
          config.eval.every);
  require(config.schedule.kind != ScheduleKind::plateau || config.eval.every > 0,
          "schedule.kind: expected eval.every above 0 beside plateau, which follows the evaluations, got ",
          config.eval.every);
  const ModelFamily& family = resolved.family();
  require(config.train.bptt == 0 || family.bptt > 0, "train.bptt: expected 0 for ", family.name,
          ", which carries no state from row to row, got ", config.train.bptt);
  require(!config.data.within_document || family.keeps_documents, "data.within_document: expected false for ",
          family.name, ", which reads on where a document ends, got true");
  const bool makes_text = !resolved.has_task() && (family.reads_pairs() || family.task() == ModelTask::language_model);
  require(config.train.sample_every == 0 || makes_text, "train.sample_every: expected 0 for ",
          resolved.has_task() ? "task.kind = " + config.task.kind : family.name, ", which makes no text, got ",
          config.train.sample_every);
  require(!config.train.recompute || family.recomputes, "train.recompute: expected false for ", family.name,
          ", which has no blocks to compute again, got true");
  require(config.eval.stride == 0 || family.bptt == 0, "eval.stride: expected 0 for ", family.name,
          ", which reads a text in order and has no windows, got ", config.eval.stride);
  const bool skip_gram = family.task() == ModelTask::skip_gram_model;
  const bool encoder = skip_gram || family.task() == ModelTask::bidirectional_language_model ||
                       family.task() == ModelTask::masked_language_model;
  require(!encoder || config.eval.stride == resolved.row_tokens(),
          "eval.stride: expected 0 or model.context, which is ", resolved.row_tokens(), ", for ", family.name,
          ", whose windows do not overlap, got ", config.eval.stride);
  require(!skip_gram || config.train.label_smoothing == 0, "train.label_smoothing: expected 0 for ", family.name,
          ", which has no softmax, got ", config.train.label_smoothing);
  require(!skip_gram || config.train.z_loss == 0, "train.z_loss: expected 0 for ", family.name,
          ", which has no softmax, got ", config.train.z_loss);
  const Config::Train defaults;
  const auto masks = [&](const char* key, double value, double default_value) {
    require(value == default_value || family.task() == ModelTask::masked_language_model, "train.", key, ": expected ",
            default_value, " for ", family.name, ", which masks no tokens, got ", value);
  };
  masks("mask_rate", config.train.mask_rate, defaults.mask_rate);
  masks("mask_token", config.train.mask_token, defaults.mask_token);
  masks("mask_random", config.train.mask_random, defaults.mask_random);
  require(config.train.mask_token + config.train.mask_random <= 1, "train.mask_random: expected at most ",
          1 - config.train.mask_token, ", since train.mask_token is ", config.train.mask_token, ", got ",
          config.train.mask_random);
  // Between two outer steps the ranks have different weights: nothing of the run can be evaluated or saved there.
  const auto whole_rounds = [&](const char* key, std::int64_t value) {
    require(config.train.sync_every == 0 || value % config.train.sync_every == 0, key,
            ": expected a multiple of train.sync_every, which is ", config.train.sync_every, ", got ", value);
  };
  whole_rounds("train.steps", config.train.steps);
  whole_rounds("eval.every", config.eval.every);
  whole_rounds("checkpoint.every", config.checkpoint.every);
  const auto context = resolved.context();
  require(!context || config.eval.stride <= *context, "eval.stride: expected at most model.context, which is ",
          context.value_or(0), ", got ", config.eval.stride);
}

// The family's keys with the values given, the others with their defaults.
KeyValues family_options(const Config::Model& model, const ModelFamily& family) {
  KeyValues options(family.keys);
  for (const auto& [name, value] : model.options) {
    if (!options.has(name)) {
      std::string keys;
      for (const Key& key : family.keys) keys += (keys.empty() ? "" : ", ") + key.name;
      fail_usage("model.", name, ": ", family.name, " has no such key; its keys are ", keys);
    }
    options.set(name, value);
  }
  return options;
}

void derive(Config& config, const ModelFamily& family, std::int64_t window) {
  const OptimizerRow& optimizer = *find_optimizer_row(config.optimizer.name);
  const KeyValues options = optimizer_options(optimizer, config.optimizer.options);
  for (const Key& key : optimizer.keys) config.optimizer.options[key.name] = options.get(key.name);
  if (config.schedule.warmup < 0) config.schedule.warmup = config.schedule.factor > 0 ? kPaperWarmup : kDefaultWarmup;
  if (config.schedule.total == 0) config.schedule.total = config.train.steps;
  if (config.train.matmul == MatmulSetting::automatic) config.train.matmul = fastest_matmul();
  if (config.train.bptt == 0) config.train.bptt = family.bptt;
  if (config.eval.stride == 0 && family.bptt == 0) config.eval.stride = window;
  if (config.checkpoint.keep > 0) config.checkpoint.keep = std::max(config.checkpoint.keep, config.checkpoint.average);
}

}  // namespace

ResolvedConfig::ResolvedConfig(std::shared_ptr<const Values> values)
    : values_(std::move(values)),
      model(values_->model),
      tokenizer(values_->config.tokenizer),
      data(values_->config.data),
      task(values_->config.task),
      optimizer(values_->config.optimizer),
      schedule(values_->config.schedule),
      train(values_->config.train),
      eval(values_->config.eval),
      checkpoint(values_->config.checkpoint) {}

std::optional<std::int64_t> ResolvedConfig::integer_option(std::string_view name) const {
  return model.options.has(name) ? std::optional(model.options.integer(name)) : std::nullopt;
}

ResolvedConfig resolve(Config config) {
  const ModelFamily& family = find_model_family(config.model.type);
  const std::vector<ConfigEntry> entries = config_entries(config);
  for (const ConfigEntry& entry : entries) {
    const bool derived = config.derived && std::ranges::count(*config.derived, entry.name());
    if (derived) entry.set(config, entry.key.default_value);
    check_key_value(entry.name(), entry.key, entry.get(config), "");
  }

  const Config given = config;
  auto values = std::make_shared<ResolvedConfig::Values>();
  KeyValues& options = values->model.options = family_options(config.model, family);
  values->model.type = family.name;
  family.resolve(options, config.tokenizer.joint);
  for (const auto& [name, value] : options.entries()) config.model.options[name] = value;
  derive(config, family, options.has("context") ? options.integer("context") : kUnlimitedWindow);

  config.derived.emplace();
  for (const ConfigEntry& entry : entries) {
    const bool was_default = entry.get(given) == entry.key.default_value;
    if (!entry.key.follows.empty() && was_default && entry.get(config) != entry.key.default_value) {
      config.derived->push_back(entry.name());
    }
  }
  config.model.type_is_given = true;
  values->config = config;
  const ResolvedConfig resolved(std::move(values));
  check_rules(config, resolved);
  return resolved;
}

void require_data(const ResolvedConfig& config) {
  require(
      !data_kinds(config.data).empty(),
      "data: expected one of data.text, data.source and data.target, data.pairs, data.labels, data.corpus; got none");
}

}  // namespace tapeformer
