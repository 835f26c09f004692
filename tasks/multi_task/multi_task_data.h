// The data of tasks that a model learns together: the data of each task, encoded by one tokenizer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/progress.h"
#include "tasks/common/shared_tasks.h"
#include "train/loop/objective_data.h"
#include "train/run/run_folder.h"

namespace tapeformer {

struct TaskData {
  SharedTask task;
  std::unique_ptr<ObjectiveData> data;  // as the task's own row wraps it
  std::vector<std::string> labels;      // empty for a task of text
  double rows;  // the number of examples; for a task of text, the number of rows in one pass over it
};

struct MultiTaskData {
  std::string tokenizer;  // its JSON
  std::vector<TaskData> tasks;
  double sampling_alpha;

  // Returns the probability with which a step draws each task: in proportion to rows^task.sampling_alpha.
  std::vector<double> probabilities() const;
  // Returns the labels of the tasks, {"NAME": ["label", …]}; "" if no task has any.
  std::string labels_json() const;
};

// Implement TaskRow::prepare and TaskRow::dummy. The tokenizer is that of the run, or tokenizer.file, or else learned
// from the text of the first task that has text; if all tasks have labels, from the training examples of all of them.
std::unique_ptr<ObjectiveData> prepare_tasks(const ResolvedConfig& config, const RunFolder* resumed,
                                             const ProgressMaker& progress);
std::unique_ptr<ObjectiveData> dummy_tasks(const ResolvedConfig& config, const RunFolder* run);

}  // namespace tapeformer
