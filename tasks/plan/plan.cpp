#include "tasks/plan/plan.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text/joined.h"
#include "train/config/config_table.h"
#include "train/config/data_kinds.h"
#include "train/config/idle_keys.h"
#include "train/config/key_text.h"

namespace tapeformer {
namespace {

ConfigEntry entry_of_key(std::string_view key, const Config& config) {
  const auto entry = find_config_entry(key, config);
  check(entry.has_value(), "a plan chooses ", key, ", which is no key");
  return *entry;
}

// Throws UsageError, as a training does, for data of a kind that the task does not read. Other keys may need what the
// plan chooses, so they are left out.
void require_data_of_task(const Config& given) {
  Config config;
  config.model.type = given.model.type;
  config.task.kind = given.task.kind;
  for (const DataKind& kind : all_data_kinds()) {
    for (const std::vector<std::string>& keys : {kind.training, kind.validation}) {
      for (const std::string& key : keys) entry_of_key(key, config).set(config, entry_of_key(key, given).get(given));
    }
  }
  resolve(config);
}

}  // namespace

bool PlanDraft::is_given(std::string_view key) const {
  const std::optional<std::vector<std::string>>& derived = request_->given.derived;
  if (derived && std::ranges::count(*derived, key) > 0) return false;
  const bool of_weights = key.starts_with("model.") || key.starts_with("tokenizer.");
  const bool may_change = key == "model.dropout" || key == "model.attention_dropout";
  if (of_weights && !may_change && !from_scratch()) return true;
  return request_->given_keys.contains(std::string(key));
}

bool PlanDraft::has(std::string_view key) const {
  const std::vector<ConfigEntry> entries = config_entries(plan_.config);
  return std::ranges::any_of(entries, [&](const ConfigEntry& entry) { return entry.name() == key; });
}

KeyValue PlanDraft::value(std::string_view key) const { return entry_of_key(key, plan_.config).get(plan_.config); }

void PlanDraft::choose(std::string_view key, const KeyValue& value, std::string reason) {
  if (is_given(key) || !has(key)) return;
  const ConfigEntry entry = entry_of_key(key, plan_.config);
  if (!switch_of_own_key(entry, plan_.config).empty()) return;
  check_key_value(entry.name(), entry.key, value, "");
  entry.set(plan_.config, value);
  if (key == "optimizer.name") remove_foreign_options(plan_.config.optimizer);
  if (plan_.config.derived) std::erase(*plan_.config.derived, key);
  PlannedKey chosen{std::string(key), command_line_text(value), std::move(reason)};
  const auto before = std::ranges::find(plan_.keys, key, &PlannedKey::key);
  if (before == plan_.keys.end()) {
    plan_.keys.push_back(std::move(chosen));
  } else {
    *before = std::move(chosen);
  }
}

void PlanDraft::choose(std::span<const tuning::FixedKey> keys) {
  for (const auto& [key, value, reason] : keys) {
    const ConfigEntry entry = entry_of_key(key, plan_.config);
    const std::optional<KeyValue> parsed = parse_key_value(value, entry.key.type());
    check(parsed.has_value(), "a plan chooses ", key, " = ", value, ", which is no value of it");
    choose(key, *parsed, reason);
  }
}

std::optional<double> PlanDraft::step_seconds() const {
  constexpr std::int64_t kLeast = tuning::kTextVocab[0].vocab;  // byte pairs need the 256 bytes and more
  Config config = plan_.config;
  if (vocab_) config.tokenizer.vocab = std::min(config.tokenizer.vocab, std::max(*vocab_, kLeast));
  return request_->step_seconds(resolve(std::move(config)));
}

Plan make_plan(const PlanRequest& request) {
  const Config& given = request.given;
  require_data(given);
  const TaskRow& task = task_row_of(given);
  if (task.plan) {
    require_data_of_task(given);
    return task.plan(request);
  }
  std::vector<std::string> planned;
  for (const TaskRow& row : task_rows()) {
    if (row.plan) planned.push_back(row.name);
  }
  fail_usage("--minutes: no plan is made for ", task.name,
             ", whose best sizes and rates nobody has measured; there are plans for ", joined(planned, ", "));
}

}  // namespace tapeformer
