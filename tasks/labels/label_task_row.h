// The row of a task with labels in the table of tasks.
#pragma once

#include "tasks/labels/label_task.h"
#include "tasks/labels/labelled_data.h"
#include "train/config/task_row.h"
#include "train/loop/objective_data.h"

namespace tapeformer {

// Makes the row from what is particular to the task.
TaskRow label_task_row(const LabelTask& task);

// What the row's prepare() and dummy() return.
std::unique_ptr<ObjectiveData> labelled_objective_data(LabelledData data);
// Makes random examples; labels that are not known are made up.
LabelledData dummy_examples(const ResolvedConfig& config, KnownVocabulary known);

}  // namespace tapeformer
