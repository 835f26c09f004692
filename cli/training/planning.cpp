#include "cli/training/planning.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "autograd/tensor/allocator.h"
#include "cli/options/config_options.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/text/lines.h"
#include "core/text/parse_number.h"
#include "tasks/plan/sizes.h"
#include "train/config/config_table.h"
#include "train/config/key_text.h"
#include "train/loop/initial_weights.h"

namespace tapeformer::cli {
namespace {

// The keys that the minutes decide.
constexpr std::string_view kDecided[] = {"train.steps", "train.minutes", "schedule.kind", "schedule.total"};

// Sets the keys of the file that the minutes decide back to their defaults, and removes them from `given_keys`. Returns
// a line about each value that changed.
std::vector<std::string> remove_decided(Config& config, const ConfigOverrides& overrides,
                                        std::set<std::string>& given_keys) {
  std::vector<std::string> notes;
  for (const std::string_view key : kDecided) {
    if (has_override(overrides, key) || given_keys.erase(std::string(key)) == 0) continue;
    const ConfigEntry entry = *find_config_entry(key, config);
    const KeyValue before = entry.get(config);
    entry.set(config, entry.key.default_value);
    if (before == entry.key.default_value || before == KeyValue(word_of(ScheduleKind::wsd))) continue;
    notes.push_back(str_cat("--minutes replaces ", key, " = ", command_line_text(before)));
  }
  return notes;
}

}  // namespace

std::optional<double> planned_minutes(const std::optional<std::string>& option, const ConfigOverrides& overrides) {
  if (!option) return std::nullopt;
  const std::optional<double> minutes = parse_finite_number(*option);
  if (!minutes || *minutes <= 0) fail_usage("--minutes: expected a number above 0, got ", *option);
  if (*minutes > kMaxMinutes)
    fail_usage("--minutes: expected at most ", static_cast<std::int64_t>(kMaxMinutes), " (ten years), got ", *option);
  for (const std::string_view key : {"train.steps", "train.minutes"}) {
    if (has_override(overrides, key))
      fail_usage("--minutes: expected no --", key, " beside it: the minutes say when the training ends");
  }
  return minutes;
}

ConfigOverrides with_minutes(const ConfigOverrides& overrides, const std::optional<std::string>& minutes,
                             const Config& run) {
  ConfigOverrides changed = overrides;
  if (!planned_minutes(minutes, overrides)) return changed;
  changed["train.minutes"] = {*minutes};
  if (run.train.minutes == 0) changed["train.steps"] = {str_cat(no_step_limit(run.train.sync_every))};
  return changed;
}

PlannedTraining plan_training(const std::string& file, const ConfigOverrides& overrides, double minutes,
                              const StepTimer& step_seconds) {
  Config config;
  PlanRequest request{.given = {}, .given_keys = {}, .minutes = minutes, .step_seconds = {}};
  request.step_seconds = [&, told = false](const ResolvedConfig& tried) mutable {
    if (!std::exchange(told, true)) log_info("measuring how fast this machine trains, for a plan");
    return step_seconds(tried);
  };
  if (!file.empty()) {
    config = load_config(file);
    request.given_keys = keys_given_in(file);
  }
  for (const auto& [key, values] : overrides) {
    if (!values.empty()) request.given_keys.insert(key);
  }
  std::vector<std::string> notes = remove_decided(config, overrides, request.given_keys);
  GivenConfig given = given_config(std::move(config), overrides);
  notes.insert(notes.end(), given.notes.begin(), given.notes.end());
  const bool initial_tokenizers = use_initial_tokenizers(given.values);
  request.given = std::move(given.values);
  if (request.given.train.threads > 0) set_thread_count(static_cast<int>(request.given.train.threads));
  PlannedTraining planned{make_plan(request), initial_tokenizers};
  resolve(planned.plan.config);  // throws UsageError if keys that the user gave contradict the plan
  for (const std::string& note : notes) log_info("{}", note);
  // The memory of the measured steps must not count as the training's.
  release_cached_memory();
  reset_peak_resident();
  return planned;
}

std::string plan_text(std::span<const PlannedKey> keys) {
  std::vector<std::vector<std::string>> rows;
  for (const PlannedKey& key : keys) rows.push_back({key.key, key.value, key.reason});
  return Table::fitted(std::move(rows)).text();
}

nlohmann::ordered_json plan_json(std::span<const PlannedKey> keys) {
  Json list = Json::array();
  for (const PlannedKey& key : keys) {
    list.push_back({{"key", key.key}, {"value", key.value}, {"reason", key.reason}});
  }
  return list;
}

void log_plan(const Plan& plan, double minutes) {
  log_info("the plan for {:g} min:", minutes);
  for_each_line(plan_text(plan.keys), [](std::string_view line, std::size_t) { log_info("  {}", line); });
}

}  // namespace tapeformer::cli
