#include "tasks/common/shared_tasks.h"

#include <algorithm>

#include "core/text/joined.h"
#include "train/config/data_kinds.h"
#include "train/config/idle_keys.h"
#include "train/config/rules.h"

namespace tapeformer {
namespace {

// The kinds of tasks that models of a family learn together.
std::vector<std::string> kinds_for(const ModelFamily& family) {
  std::vector<std::string> kinds;
  for (const TaskRow& row : task_rows()) {
    const bool shares_text = row.make_shared && row.name == family.task && family.bptt == 0;
    if (row.make_on || shares_text) kinds.push_back(row.name);
  }
  return kinds;
}

// Returns the configuration of a training on this task alone.
ResolvedConfig config_of_task(const ResolvedConfig& all, const std::string& name, const Config::TaskSection& task) {
  const std::string section = str_cat("tasks.", name);
  const std::vector<std::string> kinds = kinds_for(all.family());
  require(std::ranges::count(kinds, task.kind) > 0, section, ".kind: expected ", joined(kinds, ", "), " for ",
          all.family().name, ", got ", task.kind.empty() ? "none" : task.kind);
  Config alone = all.values();
  alone.tasks.clear();
  const Config::Task defaults;
  if (task.kind == all.family().task) {
    alone.task = defaults;
  } else {
    alone.task.kind = task.kind;
    alone.task.sampling_alpha = defaults.sampling_alpha;
    alone.task.metric_for_best_model = defaults.metric_for_best_model;
  }
  alone.data.text = task.text;
  alone.data.valid = task.valid;
  alone.data.corpus = task.corpus;
  alone.data.labels = task.labels;
  alone.data.valid_labels = task.valid_labels;
  reset_idle_keys(alone);  // the user gave these for the other tasks
  require(!data_kind(alone.data).empty(), section, ": expected ",
          find_task_row(task.kind).has_labels ? "labels" : "text or corpus", ", got no training data");
  try {
    return resolve(std::move(alone));
  } catch (const UsageError& error) {
    fail_usage(section, ": ", error.what());
  }
}

}  // namespace

std::vector<std::string> SharedTask::metrics() const {
  std::vector<std::string> metrics{name + "_loss"};
  if (const std::string_view own = config.metric_for_best_model(); !own.empty())
    metrics.push_back(str_cat(name, "_", own));
  return metrics;
}

std::vector<SharedTask> shared_tasks(const ResolvedConfig& config) {
  std::vector<SharedTask> tasks;
  for (const auto& [name, task] : config.tasks) {
    if (task.weight > 0) tasks.push_back({name, task.weight, config_of_task(config, name, task)});
  }
  return tasks;
}

bool trains_own_head(const ResolvedConfig& config) {
  const TaskRow& row = config.task_row();
  if (!row.is_multi_task) return row.trains_family_head();
  return std::ranges::any_of(shared_tasks(config), [](const SharedTask& task) { return !task.has_labels(); });
}

}  // namespace tapeformer
