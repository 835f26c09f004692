// The labelled text, the labels and the tokenizer that a fine-tuning configuration names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/labelling_model.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"
#include "train/tasks/task.h"

namespace tapeformer {

struct TaskData {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> labels;  // of the training examples, in the order in which they come
  std::vector<LabelledExample> train, valid;
  std::uint64_t train_hash = 0, valid_hash = 0;  // 0: no validation examples
};

// Reads data.labels and data.valid_labels; without the latter, the last data.valid_fraction of the examples validate.
// Tokenizer and labels are those of the run that is resumed; without one, the tokenizer is read from tokenizer.file, or
// learned from the training examples. Throws Error for examples without labels, and for a label that the resumed run
// does not have.
TaskData prepare_task_data(const ResolvedConfig& config, const RunFolder* resumed = nullptr);

// The model that the configuration describes, its parameters not set yet. Throws UsageError for a family without
// vectors of tokens.
std::unique_ptr<LabellingModel> make_labelling_model(const ResolvedConfig& config, const Tokenizer& tokenizer,
                                                     std::int64_t labels);

// How fast its parameters learn: task.layer_decay and task.freeze, and nothing for the family's parts of pre-training
// alone, which no gradient reaches.
ParameterRates task_rates(const ResolvedConfig& config, const LabellingModel& model);

// The file of a run's labels (RunFolder::labels()), and what is written to it.
std::vector<std::string> read_labels(const std::filesystem::path& path);
std::string labels_json(std::span<const std::string> labels);

}  // namespace tapeformer
