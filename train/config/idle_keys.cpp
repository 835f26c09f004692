#include "train/config/idle_keys.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "nn/interfaces/causal_model.h"
#include "train/config/key_text.h"
#include "train/config/rules.h"

namespace tapeformer {
namespace {

bool is_read(std::string_view key, ScheduleKind kind) {
  if (key == "min_lr") return kind == ScheduleKind::cosine || kind == ScheduleKind::linear || kind == ScheduleKind::wsd;
  if (key == "factor") return kind == ScheduleKind::inverse_sqrt;
  if (key == "decay") return kind == ScheduleKind::plateau;
  return !key.starts_with("cooldown") || kind == ScheduleKind::wsd;
}

// Whether the task reads this key: those of text that is cut into rows mean nothing where each row is an example.
bool is_read(const ConfigEntry& entry, const Config& config, const TaskRow& task) {
  const bool reads_examples = task.reads_sentences && !task.is_multi_task;
  const std::string_view key = entry.key.name;
  if (entry.section == "train" && key == "sample_prompt") return task.makes_text && !reads_examples;
  if (entry.section == "train") return !reads_examples || (key != "mlm_probability" && !key.starts_with("mask_"));
  if (entry.section != "eval" || key != "stride" || !reads_examples) return true;
  const auto context = config.model.options.find("context");  // which a stride that is not given follows
  return entry.get(config) == (context != config.model.options.end() ? context->second : KeyValue(kUnlimitedWindow));
}

// Returns the key whose value says that nothing reads this one; "" if something may read it.
std::string_view ruler_of(const ConfigEntry& entry, const Config& config) {
  const TaskRow& task = task_row_of(config);
  const std::string_view key = entry.key.name, kind = config.task.kind == kNoTask ? "model.type" : "task.kind";
  if (entry.section == "task") return key == "kind" || std::ranges::count(task.keys, key) > 0 ? "" : "task.kind";
  if (entry.section == "schedule") {
    return !config.schedule.kind || is_read(key, *config.schedule.kind) ? "" : "schedule.kind";
  }
  if (entry.section == "train" && key.starts_with("outer_")) {
    return config.train.sync_every > 0 ? "" : "train.sync_every";
  }
  if (entry.section == "train" && key.starts_with("lora.") && key != "lora.rank") {
    return config.train.lora_rank > 0 ? "" : "train.lora.rank";
  }
  if (entry.section == "eval" && key.starts_with("bleu_")) {
    return task.has_bleu ? "" : kind;
  }
  return is_read(entry, config, task) ? "" : kind;
}

// Returns "beside schedule.kind = constant".
std::string beside_ruler(const IdleKey& key, const Config& config) {
  return str_cat("beside ", key.ruler, " = ", value_text(find_config_entry(key.ruler, config)->get(config)));
}

}  // namespace

std::vector<IdleKey> idle_keys(const Config& config) {
  std::vector<IdleKey> keys;
  for (const ConfigEntry& entry : config_entries(config)) {
    const KeyValue value = entry.get(config);
    if (value == entry.key.default_value) continue;
    const KeyValue expected = entry.name() == "eval.bleu_every" ? KeyValue(std::int64_t{0}) : entry.key.default_value;
    const std::string_view ruler = ruler_of(entry, config);
    if (!ruler.empty() && value != expected) keys.push_back({entry, ruler, expected});
  }
  return keys;
}

void require_no_idle_keys(const Config& config) {
  for (const IdleKey& key : idle_keys(config)) {
    fail_usage(key.entry.name(), ": expected ", value_text(key.expected), " ", beside_ruler(key, config), ", got ",
               value_text(key.entry.get(config)));
  }
}

std::vector<std::string> reset_idle_keys(Config& config) {
  std::vector<std::string> notes;
  for (const IdleKey& key : idle_keys(config)) {
    notes.push_back(str_cat(key.entry.name(), " = ", value_text(key.entry.get(config)), " has no effect ",
                            beside_ruler(key, config)));
    key.entry.set(config, key.expected);
  }
  return notes;
}

}  // namespace tapeformer
