// Reads the labelled text, the labels and the tokenizer that a fine-tuning configuration names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/progress.h"
#include "nn/interfaces/encoder_for_classification.h"
#include "tasks/labels/label_task.h"
#include "tokenizer/tokenizer.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// The tokenizer and the labels of a run that goes on, or what the tasks that share a model have in common.
struct KnownVocabulary {
  std::unique_ptr<Tokenizer> tokenizer = nullptr;       // null: the configuration's file, or learned
  std::optional<std::vector<std::string>> labels = {};  // nullopt: those of the training examples
  std::string run = {};                                 // the run's folder, for messages
};

struct LabelledData {
  std::unique_ptr<Tokenizer> tokenizer;
  // The known labels; else those of the training examples, in the order of their first occurrence; {"start", "end"} for
  // a task that extracts a span.
  std::vector<std::string> labels;
  std::vector<LabelledExample> train, valid;
  std::uint64_t train_hash = 0, valid_hash = 0;  // 0: there are no validation examples
  std::vector<std::string> warnings = {};        // likely mistakes in the files, a sentence each
};

// Reads data.labels and data.valid_labels; without the latter, data.valid_fraction of the examples, drawn by data.seed,
// are held out (hold_out) for validation. The tokenizer is the known one, or null. Throws Error for examples without
// labels, and for a label that is not among the known ones.
LabelledData read_labelled_data(const ResolvedConfig& config, KnownVocabulary known);
// The same with a tokenizer: if it is not known, it is read from tokenizer.file, or learned from the training examples.
LabelledData prepare_labelled_data(const ResolvedConfig& config, KnownVocabulary known = {},
                                   const ProgressMaker& progress = {});
// Returns the tokenizer and the labels of a run of one task; an empty KnownVocabulary if `run` is null.
KnownVocabulary vocabulary_of(const RunFolder* run);

// Makes the model that the configuration describes, its parameters not initialized yet. Throws UsageError for a family
// without token vectors.
std::unique_ptr<EncoderForClassification> make_encoder_for_classification(const ResolvedConfig& config,
                                                                          const Tokenizer& tokenizer,
                                                                          std::int64_t labels);
// Makes the classifier of one task on an encoder that several tasks share.
std::unique_ptr<EncoderForClassification> make_encoder_for_classification(const ResolvedConfig& config,
                                                                          std::shared_ptr<Model> encoder,
                                                                          std::int64_t labels);

// Removes a random share of the examples, about the same share of each label, and returns them. The examples are chosen
// at random by the seed alone, so the file may be sorted. An example counts for the rarest of its labels. At least one
// example of each label stays, so fewer than fraction·n may be removed. Both parts keep the order of the file.
std::vector<LabelledExample> hold_out(std::vector<LabelledExample>& examples, double fraction, std::uint64_t seed);

// Returns the examples that a tokenizer is learned from: those of training and, for one of characters, which refuses
// others, those of validation too.
std::vector<LabelledExample> examples_for_tokenizer(const ResolvedConfig& config, const LabelledData& data);
// Learns a tokenizer from the examples, as the configuration says.
std::unique_ptr<Tokenizer> learn_tokenizer(const ResolvedConfig& config, std::span<const LabelledExample> examples,
                                           const ProgressMaker& progress);

// Reads the labels of a run (RunFolder::labels()). `task` is the name of one of several tasks; empty if the run has one
// task. Throws Error that names the file if it does not have them.
std::vector<std::string> read_labels(const std::filesystem::path& path, const std::string& task = "");
// Returns the text of that file for a run of one task: a list of strings.
std::string labels_json(std::span<const std::string> labels);

}  // namespace tapeformer
