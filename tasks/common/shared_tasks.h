// The tasks that a model learns together (task.kind = multi_task).
#pragma once

#include <string>
#include <vector>

#include "train/config/config.h"

namespace tapeformer {

// One of the tasks that a model learns together.
struct SharedTask {
  std::string name;
  double weight;          // of its loss
  ResolvedConfig config;  // as if the model were trained on this task alone

  bool has_labels() const { return config.task_row().has_labels; }
  // The metrics that task.metric_for_best_model may name: NAME_loss, and the one that chooses the best checkpoint when
  // the task is trained alone.
  std::vector<std::string> metrics() const;
};

// Returns the tasks with a weight above 0, ordered by their names; empty for a run of one task. Throws UsageError,
// which begins with the task's section, for values that do not fit.
std::vector<SharedTask> shared_tasks(const ResolvedConfig& config);

// Returns whether the training changes the head that the family's own task gives the model, so that the head's
// predictions mean something.
bool trains_own_head(const ResolvedConfig& config);

}  // namespace tapeformer
