#include "train/config/idle_keys.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "nn/interfaces/causal_model.h"
#include "nn/optim/optimizers.h"
#include "train/config/data_kinds.h"
#include "train/config/key_text.h"

namespace tapeformer {
namespace {

bool is_read(std::string_view key, ScheduleKind kind) {
  if (key == "min_lr" || key == "total")
    return kind == ScheduleKind::cosine || kind == ScheduleKind::linear || kind == ScheduleKind::wsd;
  if (key == "factor") return kind == ScheduleKind::inverse_sqrt;
  if (key == "decay") return kind == ScheduleKind::plateau;
  return !key.starts_with("cooldown") || kind == ScheduleKind::wsd;
}

bool has_model_key(const Config& config, std::string_view key) {
  return std::ranges::count(find_model_family(config.model.type).keys, key, &Key::name) > 0;
}

// Whether the task reads this key: those of text that is cut into rows mean nothing where each row is an example, and
// those of a family's own head mean nothing where another one is trained.
bool is_read(std::string_view name, const TaskRow& task) {
  const auto is_one_of = [&](auto... names) { return ((name == names) || ...); };
  const bool reads_examples = task.reads_sentences && !task.is_multi_task;
  if (name == "train.bptt") return task.trains_family_head();
  if (name == "train.sample_prompt") return task.makes_text && !reads_examples;
  if (name == "train.sample_tokens") return task.makes_text && !task.has_bleu;
  if (is_one_of("tokenizer.joint", "tokenizer.target_file")) return task.has_two_tokenizers;
  const bool of_rows =
      is_one_of("data.document", "data.text_field", "data.within_document", "data.valid_bytes", "tokenizer.sample",
                "eval.stride", "train.mlm_probability", "train.mask_token", "train.mask_random");
  return !of_rows || !reads_examples;
}

// Returns the key because of which no head has weights of its own that learn; "" if one may have.
std::string switch_of_head_lr(const Config& config) {
  const TaskRow& task = task_row_of(config);
  if (task.tunes_vectors) return "task.kind";
  if (!task.trains_family_head()) return "";
  if (config.train.lora_rank > 0) return "train.lora.rank";
  if (task.heads.are_embeddings) return "model.type";
  const auto is = [&](const char* key, const KeyValue& value) {
    return has_model_key(config, key) && find_config_entry("model", key, config)->get(config) == value;
  };
  const bool may_be_tied = has_model_key(config, "tie_embeddings");
  return !may_be_tied || is("tie_embeddings", "none") || is("next_sentence", true) ? "" : "model.tie_embeddings";
}

// Returns the key because of which nothing reads an optimizer's key; "" if something may read it.
std::string switch_of_optimizer_key(std::string_view key, const Config& config) {
  if (key == "lr") return config.schedule.factor > 0 ? "schedule.factor" : "";
  if (key == "head_lr") return switch_of_head_lr(config);
  if (key == "embedding_lr")
    return config.train.lora_rank > 0 ? "train.lora.rank" : config.task.freeze ? "task.freeze" : "";
  if (key != "state") return "";
  const OptimizerRow& row = *find_optimizer_row(config.optimizer.name);
  const KeyValues options = optimizer_options(row, config.optimizer.options);
  const bool keeps_numbers = std::ranges::any_of(
      Words<ParameterKind>::list, [&](const auto& kind) { return row.state_slabs(options, kind.first) > 0; });
  if (keeps_numbers) return "";
  return options.has("momentum") ? "optimizer.momentum" : "optimizer.name";
}

// The keys of [data] that say how labelled text is written.
constexpr std::string_view kOfLabels[] = {"labels_format", "labels_header", "label_column", "text_column"};

bool is_of_labels(std::string_view key) { return std::ranges::count(kOfLabels, key) > 0; }

// Returns the key of the data that makes nothing read kOfLabels, data.lines or data.seed: it names no labelled text, or
// no generated corpus. The seed also draws the labelled examples that validate, where no others are named. A
// configuration without data is not complete yet.
std::string switch_of_data_key(std::string_view key, const Config& config) {
  const auto reads = [&](const auto& data) {
    if (is_of_labels(key)) return !data.labels.empty();
    const bool draws = !data.labels.empty() && data.valid_labels.empty();
    return !data.corpus.empty() || (key == "seed" && draws);
  };
  if (!config.tasks.empty()) {
    const bool any = std::ranges::any_of(config.tasks, [&](const auto& task) { return reads(task.second); });
    return any ? "" : "task.kind";
  }
  if (reads(config.data)) return "";
  return key == "seed" && !config.data.labels.empty() ? "data.valid_labels" : data_kind(config.data);
}

// Returns the key that names validation data, so that none of the training data is held out; "" if some may be.
std::string switch_of_held_out(const Config& config) {
  const bool tasks_have = std::ranges::all_of(
      config.tasks, [](const auto& task) { return !task.second.valid.empty() || !task.second.valid_labels.empty(); });
  if (!config.tasks.empty()) return tasks_have ? "task.kind" : "";
  for (const DataKind& kind : all_data_kinds()) {
    if (!kind.validation.empty() && names_data(config.data, kind.validation.front())) return kind.validation.front();
  }
  return "";
}

// Returns the key whose value says that nothing reads this one; "" if something may read it.
std::string switch_of(const ConfigEntry& entry, const Config& config) {
  const TaskRow& task = task_row_of(config);
  const std::string_view key = entry.key.name;
  const std::string kind = config.task.kind == kNoTask ? "model.type" : "task.kind";
  if (entry.section == "task" && key == "layer_decay" && !has_model_key(config, "layers")) return "model.type";
  if (entry.section == "task") return key == "kind" || std::ranges::count(task.keys, key) > 0 ? "" : "task.kind";
  if (entry.section == "schedule") {
    return !config.schedule.kind || is_read(key, *config.schedule.kind) ? "" : "schedule.kind";
  }
  if (entry.name() == "model.position_scaling") {  // angles that are divided by 1 stay as they are
    const char* const factor = "model.position_factor";
    return find_config_entry(factor, config)->get(config) == KeyValue(1.0) ? factor : "";
  }
  if (entry.section == "model") return switch_of_own_key(entry, config);
  if (entry.section == "optimizer") return switch_of_optimizer_key(key, config);
  if (entry.section == "train" && key.starts_with("outer_")) {
    return config.train.sync_every > 0 ? "" : "train.sync_every";
  }
  if (entry.section == "train" && key.starts_with("lora.") && key != "lora.rank") {
    return config.train.lora_rank > 0 ? "" : "train.lora.rank";
  }
  if (entry.section == "eval" && key.starts_with("bleu_")) {
    return task.has_bleu ? "" : kind;
  }
  if (entry.name() == "train.batch") return config.train.batch_tokens > 0 ? "train.batch_tokens" : "";
  if (entry.section == "data" && (key == "lines" || key == "seed" || is_of_labels(key)))
    return switch_of_data_key(key, config);
  if (entry.name() == "data.valid_fraction") return switch_of_held_out(config);
  return is_read(entry.name(), task) ? "" : kind;
}

// Returns the value that resolve() gives to a key that is not given, where that is another than the default and not
// listed in Config::derived: the file of a run has it, though nobody gave it.
KeyValue resolved_default(const ConfigEntry& entry, const Config& config) {
  const std::string name = entry.name();
  if (name == "schedule.total") return config.train.steps;
  if (name == "optimizer.lr") return training_defaults(config).lr;
  if (name == "train.bptt") return find_model_family(config.model.type).bptt;
  if (name != "eval.stride") return entry.key.default_value;
  const auto context = config.model.options.find("context");
  return context != config.model.options.end() ? context->second : KeyValue(kUnlimitedWindow);
}

// Returns the value of a key that nothing reads: its default, or one that says that nothing is done.
KeyValue expected_value(const ConfigEntry& entry) {
  if (entry.name() == "eval.bleu_every") return std::int64_t{0};
  if (entry.name() == "data.valid_fraction") return 0.0;
  return entry.key.default_value;
}

// Returns "beside schedule.kind = constant".
std::string beside_switch(const IdleKey& key, const Config& config) {
  return str_cat("beside ", key.switch_key, " = ", value_text(find_config_entry(key.switch_key, config)->get(config)));
}

}  // namespace

std::string switch_of_own_key(const ConfigEntry& entry, const Config& config) {
  const auto& [name, words] = entry.key.read_beside;
  if (name.empty()) return "";
  const ConfigEntry other = *find_config_entry(entry.section, name, config);
  return std::ranges::count(words, std::get<std::string>(other.get(config))) > 0 ? "" : other.name();
}

std::vector<IdleKey> idle_keys(const Config& config) {
  std::vector<IdleKey> keys;
  for (const ConfigEntry& entry : config_entries(config)) {
    const KeyValue value = entry.get(config);
    if (value == entry.key.default_value || value == resolved_default(entry, config)) continue;
    if (config.derived && std::ranges::count(*config.derived, entry.name()) > 0) continue;
    const KeyValue expected = expected_value(entry);
    std::string switch_key = switch_of(entry, config);
    if (!switch_key.empty() && value != expected) keys.push_back({entry, std::move(switch_key), expected});
  }
  return keys;
}

void require_no_idle_keys(const Config& config) {
  for (const IdleKey& key : idle_keys(config)) {
    fail_usage(key.entry.name(), ": expected ", value_text(key.expected), " ", beside_switch(key, config), ", got ",
               value_text(key.entry.get(config)));
  }
}

std::vector<std::string> reset_idle_keys(Config& config) {
  std::vector<std::string> notes;
  for (const IdleKey& key : idle_keys(config)) {
    notes.push_back(str_cat(key.entry.name(), " = ", value_text(key.entry.get(config)), " has no effect ",
                            beside_switch(key, config)));
    key.entry.set(config, key.expected);
  }
  return notes;
}

}  // namespace tapeformer
