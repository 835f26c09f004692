// Makes the TaskRow of a task on which models are fine-tuned with labels from the task's LabelTask.
#pragma once

#include "tasks/labels/task.h"
#include "train/config/task_row.h"

namespace tapeformer {

TaskRow label_task_row(const LabelTask& task);

}  // namespace tapeformer
