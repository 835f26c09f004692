// The row of a task with labels in the table of tasks.
#pragma once

#include "tasks/labels/label_task.h"
#include "train/config/task_row.h"

namespace tapeformer {

// Makes the row from what is particular to the task.
TaskRow label_task_row(const LabelTask& task);

}  // namespace tapeformer
