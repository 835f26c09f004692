// Dependencies between keys: defaults that follow other keys, and rules across keys.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text/joined.h"
#include "nn/optim/optimizers.h"
#include "train/config/config.h"
#include "train/config/config_table.h"
#include "train/config/data_kinds.h"
#include "train/config/idle_keys.h"
#include "train/config/key_text.h"
#include "train/config/matmul_config.h"
#include "train/config/rules.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kPaperWarmup = 4000;       // Vaswani et al. 2017, for runs of 100,000 steps
constexpr std::int64_t kDefaultWarmup = 200;      // for runs of a few thousand steps
constexpr std::int64_t kSmallestByteVocab = 257;  // 256 bytes and the end of a text

void check_data(const Config::Data& data) {
  const std::vector<std::string> kinds = data_kinds(data);
  require(kinds.size() <= 1, "data: expected one kind of training data, got ", data_kind(data), " and ",
          kinds.size() > 1 ? kinds[1] : "");
  const auto both_sides = [](const std::string& source, const std::string& target, const char* prefix) {
    require(source.empty() == target.empty(), "data.", prefix, source.empty() ? "source" : "target",
            ": expected a file, since data.", prefix, source.empty() ? "target" : "source", " is given");
  };
  both_sides(data.source, data.target, "");
  both_sides(data.valid_source, data.valid_target, "valid_");
  require(data.corpus.empty() || data.document == DocumentEnd::none || data.document == DocumentEnd::line,
          "data.document: expected none or line beside data.corpus, whose documents are its lines, got ",
          word_of(data.document));
  for (const DataKind& kind : all_data_kinds()) {
    if (kind.validation.empty()) continue;
    const std::string &key = kind.validation.front(), &base = kind.training.front();
    require(!names_data(data, key) || names_data(data, base), key, ": expected ", base, " beside it, got none");
  }
}

void check_tokenizer(const Config::Tokenizer& tokenizer) {
  require(tokenizer.target_file.empty() || !tokenizer.joint,
          "tokenizer.target_file: expected tokenizer.joint = false beside it, since a joint vocabulary has one file");
  require(tokenizer.kind != TokenizerKind::bpe || !tokenizer.file.empty() || tokenizer.vocab >= kSmallestByteVocab,
          "tokenizer.vocab: expected at least ", kSmallestByteVocab, " for bpe (256 bytes and the end of a text), got ",
          tokenizer.vocab);
}

void check_task(const Config& config, const ResolvedConfig& resolved) {
  const TaskRow& task = resolved.task_row();
  const std::string kind = data_kind(config.data);
  const bool is_of_task = kind == "data.labels" || kind == "data.conversations";
  require(task.fine_tunes || !is_of_task, kind, ": expected task.kind beside it, got none");
  require(config.tasks.empty() || task.is_multi_task, "tasks: expected task.kind = multi_task beside [tasks.",
          config.tasks.empty() ? "" : config.tasks.begin()->first, "], got ", config.task.kind);
  require(config.data.images.empty() || resolved.family().reads_images(), "data.images: expected a model of images as ",
          "model.type, got ", resolved.model.type);
  task.check(resolved);
}

// The rules for how the weights are trained.
void check_training(const Config& config, const ResolvedConfig& resolved) {
  require(config.train.length_groups == 0 || config.train.accumulate % config.train.length_groups == 0,
          "train.length_groups: expected 0 or a divisor of train.accumulate, which is ", config.train.accumulate,
          ", got ", config.train.length_groups);
  require(config.train.lora_rank == 0 || !config.train.init_from.empty(),
          "train.lora.rank: expected train.init_from beside it, since only adapters learn, got none");
  require(config.train.lora_rank > 0 || config.train.lora_targets.empty(),
          "train.lora.targets: expected train.lora.rank above 0 beside it, since these layers get adapters, got ",
          joined(config.train.lora_targets, " "));
  require(config.schedule.min_lr <= config.optimizer.lr, "schedule.min_lr: expected at most optimizer.lr, which is ",
          config.optimizer.lr, ", got ", config.schedule.min_lr);
  require(config.schedule.factor == 0 || resolved.model_dim(), "schedule.factor: expected 0, since ",
          resolved.model.type, " has no key model.dim, got ", config.schedule.factor);
  require(config.eval.patience == 0 || config.eval.every > 0,
          "eval.patience: expected eval.every above 0 beside it, since patience counts evaluations, got ",
          config.eval.every);
  require(config.schedule.kind != ScheduleKind::plateau || config.eval.every > 0,
          "schedule.kind: expected eval.every above 0 beside plateau, which follows the evaluations, got ",
          config.eval.every);
  require(config.train.minutes == 0 || config.schedule.kind == ScheduleKind::wsd,
          "schedule.kind: expected wsd beside train.minutes, whose end is a cool-down, got ",
          word_of(*config.schedule.kind));
  require(config.train.minutes == 0 || config.schedule.total == config.train.steps,
          "schedule.total: expected 0 beside train.minutes, whose clock says when the rate falls, got ",
          config.schedule.total);
  require(config.train.ema == 0 || config.checkpoint.average == 0,
          "train.ema: expected 0 beside checkpoint.average, since a run has one average, got ", config.train.ema);
  require(config.train.ema == 0 || config.train.sync_every == 0,
          "train.ema: expected 0 beside train.sync_every, with which each rank has weights of its own, got ",
          config.train.ema);
  require(config.train.mask_token + config.train.mask_random <= 1, "train.mask_random: expected at most ",
          1 - config.train.mask_token, ", since train.mask_token is ", config.train.mask_token, ", got ",
          config.train.mask_random);
}

// The rules for keys that not every family of models supports.
void check_family(const Config& config, const ResolvedConfig& resolved) {
  const TaskRow& task = resolved.task_row();
  const ModelFamily& family = resolved.family();
  require(config.train.bptt == 0 || family.bptt > 0, "train.bptt: expected 0 for ", family.name,
          ", which carries no state from row to row, got ", config.train.bptt);
  require(!config.data.within_document || family.keeps_documents, "data.within_document: expected false for ",
          family.name, ", which reads on where a document ends, got true");
  require(config.train.sample_every == 0 || task.makes_text, "train.sample_every: expected 0 for ",
          task.fine_tunes ? "task.kind = " + task.name : family.name, ", which makes no text, got ",
          config.train.sample_every);
  require(!config.train.recompute || family.recomputes, "train.recompute: expected false for ", family.name,
          ", which has no blocks to compute again, got true");
  require(config.eval.stride == 0 || family.bptt == 0, "eval.stride: expected 0 for ", family.name,
          ", which reads a text in order and has no windows, got ", config.eval.stride);
  const auto context = resolved.context();
  const std::int64_t window = context.value_or(kUnlimitedWindow);
  require(config.eval.stride <= window, "eval.stride: expected at most ",
          context ? "model.context" : "the window of " + family.name, ", which is ", window, ", got ",
          config.eval.stride);
}

void check_rounds(const Config& config) {
  // Between two outer steps the ranks have different weights, so the run is not evaluated, sampled or saved there.
  const auto whole_rounds = [&](const char* key, std::int64_t value) {
    require(config.train.sync_every == 0 || value % config.train.sync_every == 0, key,
            ": expected a multiple of train.sync_every, which is ", config.train.sync_every, ", got ", value);
  };
  whole_rounds("train.steps", config.train.steps);
  whole_rounds("eval.every", config.eval.every);
  whole_rounds("train.sample_every", config.train.sample_every);
  whole_rounds("checkpoint.every", config.checkpoint.every);
}

void check_rules(const Config& config, const ResolvedConfig& resolved) {
  check_data(config.data);
  check_tokenizer(config.tokenizer);
  check_task(config, resolved);
  check_training(config, resolved);
  require_no_idle_keys(config);
  check_family(config, resolved);
  check_rounds(config);
}

// Returns all keys of the family: those that are given keep their values, the others get their defaults.
KeyValues family_options(const Config::Model& model, const ModelFamily& family) {
  KeyValues options(family.keys);
  for (const auto& [name, value] : model.options) {
    if (!options.has(name)) {
      fail_usage("model.", name, ": ", family.name, " has no such key; its keys are ",
                 joined(family.keys, ", ", &Key::name));
    }
    options.set(name, value);
  }
  return options;
}

// Requires that the optimizer has all keys that are given. For a key that it does not have, the message lists those
// that it has: the keys of every optimizer, and its own.
void require_own_keys(const Config& config, const OptimizerRow& row) {
  for (const auto& option : config.optimizer.options) {
    if (std::ranges::count(row.keys, option.first, &Key::name) > 0) continue;
    std::vector<std::string> keys;
    for (const ConfigEntry& entry : config_entries(config)) {
      if (entry.section == "optimizer" && entry.key.name != "name") keys.push_back(entry.key.name);
    }
    fail_usage("optimizer.", option.first, ": ", row.name, " has no such key; its keys are ", joined(keys, ", "));
  }
}

// Gives every key of the optimizer a value: the given one, or the family's default, or the optimizer's.
void derive_optimizer(Config& config, const TrainingDefaults& training) {
  Config::Optimizer& optimizer = config.optimizer;
  const OptimizerRow& row = *find_optimizer_row(optimizer.name);
  require_own_keys(config, row);
  for (const auto& [name, value] : training.optimizer) {
    const auto key = std::ranges::find(row.keys, name, &Key::name);
    if (key == row.keys.end()) continue;
    KeyValue& given = optimizer.options.try_emplace(name, value).first->second;
    if (key->stands_for && given == key->default_value) given = value;  // -1 means that no value is given
  }
  const KeyValues options = optimizer_options(row, optimizer.options);
  for (const Key& key : row.keys) optimizer.options[key.name] = options.get(key.name);
}

// Replaces placeholders, such as -1 or 0, by the values that they mean. `context` is the number of tokens that an
// evaluation scores in one window by default.
void derive(Config& config, const ModelFamily& family, std::int64_t context) {
  const TrainingDefaults training = training_defaults(config);
  if (config.optimizer.lr == -1) config.optimizer.lr = training.lr;
  if (!config.schedule.kind) {
    config.schedule.kind = config.schedule.factor > 0 ? ScheduleKind::inverse_sqrt : training.schedule;
  }
  derive_optimizer(config, training);
  if (config.schedule.warmup < 0) config.schedule.warmup = config.schedule.factor > 0 ? kPaperWarmup : kDefaultWarmup;
  if (config.schedule.total == 0) config.schedule.total = config.train.steps;
  if (config.train.matmul == MatmulSetting::automatic) config.train.matmul = fastest_matmul();
  if (config.train.bptt == 0) config.train.bptt = family.bptt;
  require(config.train.ema != -1 || config.train.minutes == 0,
          "train.ema: expected a decay beside train.minutes, which has no number of steps beforehand, got -1");
  if (config.train.ema == -1) config.train.ema = 1 - 1 / std::max(2.0, 0.1 * static_cast<double>(config.train.steps));
  if (config.eval.stride == 0 && family.bptt == 0) config.eval.stride = context;
  if (config.checkpoint.keep > 0) config.checkpoint.keep = std::max(config.checkpoint.keep, config.checkpoint.average);
}

}  // namespace

const TaskRow& task_row_of(const Config& config) {
  const std::string& kind = config.task.kind;
  return find_task_row(kind == kNoTask ? find_model_family(config.model.type).task : kind);
}

TrainingDefaults training_defaults(const Config& config) {
  return config.task.kind == kNoTask ? find_model_family(config.model.type).training : TrainingDefaults{};
}

ResolvedConfig::ResolvedConfig(std::shared_ptr<const Values> values)
    : values_(std::move(values)),
      model(values_->model),
      tokenizer(values_->config.tokenizer),
      data(values_->config.data),
      task(values_->config.task),
      tasks(values_->config.tasks),
      optimizer(values_->config.optimizer),
      schedule(values_->config.schedule),
      train(values_->config.train),
      eval(values_->config.eval),
      checkpoint(values_->config.checkpoint) {}

std::optional<std::int64_t> ResolvedConfig::integer_option(std::string_view name) const {
  return model.options.has(name) ? std::optional(model.options.integer(name)) : std::nullopt;
}

LoraOptions ResolvedConfig::lora() const {
  return {
      .rank = train.lora_rank, .alpha = train.lora_alpha, .dropout = train.lora_dropout, .targets = train.lora_targets};
}

ResolvedConfig resolve(Config config) {
  const ModelFamily& family = find_model_family(config.model.type);
  const std::vector<ConfigEntry> entries = config_entries(config);
  for (const ConfigEntry& entry : entries) {
    const bool derived = config.derived && std::ranges::count(*config.derived, entry.name());
    if (derived) entry.set(config, entry.key.replaced_value());
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
    const bool was_placeholder = entry.get(given) == entry.key.replaced_value();
    if (!entry.key.follows.empty() && was_placeholder && entry.get(config) != entry.get(given)) {
      config.derived->push_back(entry.name());
    }
  }
  config.model.type_is_given = true;
  values->config = config;
  const ResolvedConfig resolved(std::move(values));
  check_rules(config, resolved);
  return resolved;
}

namespace {

// The highest rate of the schedule. With schedule.factor it is that of the last step of warm-up, F / √(dim · warmup).
double peak_rate(const ResolvedConfig& config) {
  if (config.schedule.factor == 0) return config.optimizer.lr;
  const std::int64_t warmup = std::max<std::int64_t>(config.schedule.warmup, 1);
  return config.schedule.factor / std::sqrt(static_cast<double>(config.model_dim().value_or(1) * warmup));
}

}  // namespace

KeyValues optimizer_options(const ResolvedConfig& config) {
  const Config::Optimizer& optimizer = config.optimizer;
  OptimizerSettings given(optimizer.options.begin(), optimizer.options.end());
  given["lr"] = peak_rate(config);
  given["clip"] = optimizer.clip;
  return optimizer_options(*find_optimizer_row(optimizer.name), given);
}

void require_data(const Config& config) {
  const auto keys_of = [](const DataKind& kind) { return joined(kind.training, " and "); };
  require(!data_kind(config.data).empty() || !config.tasks.empty(), "data: expected one of ",
          joined(all_data_kinds(), ", ", keys_of), "; got none");
}

}  // namespace tapeformer
