// The rows of the tasks, each in the folder of its name. registry.cpp puts them into one table.
#pragma once

#include "train/config/task_row.h"

namespace tapeformer {

TaskRow language_model_task();
TaskRow translation_task();
TaskRow masked_language_model_task();
TaskRow bidirectional_language_model_task();
TaskRow skip_gram_task();

}  // namespace tapeformer
