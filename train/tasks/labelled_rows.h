// Labelled examples as rows of a model, and what the model says of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/progress.h"
#include "nn/labelling_model.h"
#include "tokenizer/masked_symbols.h"
#include "tokenizer/tokenizer.h"
#include "train/evaluation/evaluation.h"
#include "train/tasks/task.h"

namespace tapeformer {

// The tokens of an example or of a part of it, and for each of its pieces the place of the token whose vector says its
// label.
struct LabelledRow {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> places;
  // The labels as places in the list of labels; kIgnoredTarget for other labels. In a task that points: the first and
  // the last word of the answer, counted among the places; kIgnoredTarget where the answer is not known or not read.
  std::vector<std::int32_t> targets;

  std::int64_t scored() const;  // targets that are not ignored
};

// Makes rows of examples for one model.
class RowEncoder {
 public:
  // All must outlive the encoder. Throws UsageError for a tokenizer without the symbols that the model's rows have.
  RowEncoder(const Task& task, const TextEncoder& model, const Tokenizer& tokenizer,
             std::span<const std::string> labels);

  // The rows of an example. One that is longer than the model's context becomes several rows of about the same length,
  // none of which ends within a piece; but where one vector stands for the whole text, and in a task that points, only
  // the beginning is read.
  // Throws Error, beginning with `where`, for an example without tokens, and for a piece that is too long by itself.
  std::vector<LabelledRow> encode(const LabelledExample& example, const std::string& where) const;
  // The rows of all examples, which errors call `origin` and their number.
  std::vector<LabelledRow> encode_all(std::span<const LabelledExample> examples, const std::string& origin) const;

 private:
  LabelledRow encode_question(const LabelledExample& example, const std::string& where) const;

  const Task& task_;
  const Tokenizer& tokenizer_;
  std::span<const std::string> labels_;
  std::optional<MaskedSymbols> symbols_;
  std::optional<std::int64_t> context_;
};

// Rows on a tape, and what they are asked: as LabellingModel::logits() takes it, and the targets i32 (N).
struct LabelledBatch {
  TextRows rows;
  Tensor places;
  std::vector<std::int32_t> targets;
  std::vector<std::int64_t> counts;  // the places of each row
};
LabelledBatch batch_of(Tape& tape, std::span<const LabelledRow* const> rows);

// For a task that points: the logits (N, labels) of a batch's places → for each row those of every label, (labels, its
// places).
std::vector<Variable> pointing_logits(const Variable& logits, const LabelledBatch& batch);

// What the model says of the rows, in order: Task::predictions() for each example. `batch` rows are read at once. Ranks
// share the batches, and all return the whole.
std::vector<PredictedLabel> predict_labels(const LabellingModel& model, const Task& task,
                                           std::span<const LabelledRow> rows, std::int64_t batch,
                                           const ProgressCallback& progress = {},
                                           Communicator& ranks = Communicator::alone());

struct TaskEvaluation {
  // The cross-entropy of the labels that training knows; the measures of the score.
  Evaluation evaluation;
  TaskScore score;
};
// `rows` are those of the examples. Throws Error when none of them has a label that training knows.
TaskEvaluation evaluate(const LabellingModel& model, const Task& task, std::span<const std::string> labels,
                        std::span<const LabelledExample> examples, std::span<const LabelledRow> rows,
                        std::int64_t batch, const ProgressCallback& progress = {},
                        Communicator& ranks = Communicator::alone());

}  // namespace tapeformer
