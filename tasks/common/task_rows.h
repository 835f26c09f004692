// The rows of the table of tasks, each defined in the folder of its name. registry.cpp collects them.
#pragma once

#include "train/config/task_row.h"

namespace tapeformer {

TaskRow language_model_task();
TaskRow translation_task();
TaskRow masked_language_model_task();
TaskRow bidirectional_language_model_task();
TaskRow skip_gram_task();
TaskRow glove_task();
TaskRow captioning_task();
TaskRow instructions_task();
TaskRow sentences_task();
TaskRow multi_task();

}  // namespace tapeformer
