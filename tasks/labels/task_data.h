// The labelled text, the labels and the tokenizer that a fine-tuning configuration names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/progress.h"
#include "nn/interfaces/encoder_for_classification.h"
#include "tasks/labels/task.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

struct TaskData {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> labels;  // of the training examples, in the order in which they come
  std::vector<LabelledExample> train, valid;
  std::uint64_t train_hash = 0, valid_hash = 0;  // 0: no validation examples
  std::vector<std::string> warnings = {};        // what seems wrong with the files, a sentence each
};

// Reads data.labels and data.valid_labels; without the latter, data.valid_fraction of the examples are held out
// (hold_out) by data.seed and validate.
// Tokenizer and labels are those of the run that is resumed; without one, the tokenizer is read from tokenizer.file, or
// learned from the training examples. Throws Error for examples without labels, and for a label that the resumed run
// does not have.
TaskData prepare_task_data(const ResolvedConfig& config, const RunFolder* resumed = nullptr,
                           const ProgressMaker& progress = {});

// The model that the configuration describes, its parameters not set yet. Throws UsageError for a family without
// vectors of tokens.
std::unique_ptr<EncoderForClassification> make_encoder_for_classification(const ResolvedConfig& config,
                                                                          const Tokenizer& tokenizer,
                                                                          std::int64_t labels);

// Takes a share of the examples away and returns them: about the same share of each label, drawn by the seed and
// nothing else, whatever the order of the file. An example counts for the rarest of its labels; of each label at least
// one example stays, so there may be fewer than fraction·n. Both parts keep the order of the file.
std::vector<LabelledExample> hold_out(std::vector<LabelledExample>& examples, double fraction, std::uint64_t seed);

// The file of a run's labels (RunFolder::labels()), and what is written to it.
std::vector<std::string> read_labels(const std::filesystem::path& path);
std::string labels_json(std::span<const std::string> labels);

}  // namespace tapeformer
