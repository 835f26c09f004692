// Labelled examples as rows of a model, and the model's predictions for them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/progress.h"
#include "nn/interfaces/encoder_for_classification.h"
#include "tasks/analysis/encoded_words.h"
#include "tasks/labels/label_task.h"
#include "tokenizer/masked_symbols.h"
#include "tokenizer/tokenizer.h"
#include "train/loop/evaluation.h"

namespace tapeformer {

// The tokens of an example or of a part of it, and for each of its pieces the position of the token whose vector
// predicts its label.
struct LabelledRow {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> positions;
  // The index of each label in the list of labels; kIgnoredTarget for labels that the list lacks. If the task
  // extracts a span: the first and the last word of the answer, as indices into `positions`; kIgnoredTarget if the
  // answer is unknown or beyond the text that is read.
  std::vector<std::int32_t> targets;
  std::int64_t line = 0;  // LabelledExample::line
  std::int64_t cut = 0;   // the number of the example's tokens beyond the model's context, which are not read
  // The number of the example's labels that are not targets: training does not have them, or they are cut off.
  std::int64_t unknown = 0;

  std::int64_t scored() const;  // targets that are not ignored
};

// Returns how errors about an example begin: "ORIGIN:LINE: ", or "ORIGIN: example N: " for one without a line, where
// `index` counts the examples from 0.
std::string place_of(const LabelledExample& example, const std::string& origin, std::int64_t index);

// Encodes examples as rows for one model.
class RowEncoder {
 public:
  // All arguments must outlive the encoder. Throws UsageError for a tokenizer without the special tokens that the model
  // needs.
  RowEncoder(const LabelTask& task, const Model& model, const Tokenizer& tokenizer,
             std::span<const std::string> labels);

  // The rows of an example. An example longer than the model's context becomes several rows of similar length, none of
  // which ends within a piece; but if one vector represents the whole text, or if the task extracts a span, only the
  // beginning is read. Throws Error, beginning with `where`, for an example without tokens, for text that the tokenizer
  // refuses, and for a single piece that is too long.
  std::vector<LabelledRow> encode(const LabelledExample& example, const std::string& where) const;
  // The rows of all examples of a file; errors name an example as place_of() does.
  std::vector<LabelledRow> encode_all(std::span<const LabelledExample> examples, const std::string& origin) const;

 private:
  EncodedWords encode_pieces(const LabelledExample& example, const std::string& where) const;
  LabelledRow encode_question(const LabelledExample& example, const std::string& where) const;
  // The position, from the beginning of a piece, of the token whose vector predicts the piece's label. If the model is
  // causal, this is the last token, the only one that has seen the whole piece; else it is the first token of the piece
  // itself, not the space before it.
  std::int64_t position_in_piece(const EncodedWords& encoded, std::size_t piece) const;

  const LabelTask& task_;
  const Tokenizer& tokenizer_;
  std::span<const std::string> labels_;
  std::optional<MaskedSymbols> symbols_;
  std::optional<std::int64_t> context_;
  bool is_causal_;
};

// Warnings about the rows of a file: how many texts are cut, and how many labels are unknown, or answers beyond what is
// read, with the line of the first one.
std::vector<std::string> row_notes(const LabelTask& task, std::span<const LabelledRow> rows, const std::string& origin);
// Returns a sentence about the tokens that the vocabulary does not have, if they are more than this share of all tokens
// of the rows.
std::optional<std::string> unknown_note(std::span<const LabelledRow> rows, const Tokenizer& tokenizer,
                                        const std::string& origin, double share);

// The arguments of EncoderForClassification::logits() on a tape, and the targets.
struct LabelledBatch {
  Batch rows;
  Tensor positions;
  std::vector<std::int32_t> targets;
  std::vector<std::int64_t> counts;  // the number of labelled positions in each row
};
LabelledBatch batch_of(Tape& tape, std::span<const LabelledRow* const> rows);

// For a task that extracts a span: splits the logits (N, 2) of a batch's positions into one matrix (2, positions of the
// row) for each row: its start and end logits.
std::vector<Variable> span_logits(const Variable& logits, const LabelledBatch& batch);

// The model's predictions for the rows, in order: LabelTask::predictions() for each example. `batch` rows are in one
// forward pass. Ranks share the batches, and all return the whole result.
std::vector<PredictedLabel> predict_labels(const EncoderForClassification& model, const LabelTask& task,
                                           std::span<const LabelledRow> rows, std::int64_t batch,
                                           const ProgressCallback& progress = {},
                                           Communicator& ranks = Communicator::alone());

struct TaskEvaluation {
  // The cross-entropy of the labels that training knows, and the metrics of the score, where unknown labels count as
  // wrong.
  Evaluation evaluation;
  std::int64_t unknown_labels = 0;  // labels that training does not know
  TaskScore score;
};
// `rows` are the examples' rows (RowEncoder::encode_all()). Throws Error when no row has a label that training knows.
TaskEvaluation evaluate(const EncoderForClassification& model, const LabelTask& task,
                        std::span<const std::string> labels, std::span<const LabelledExample> examples,
                        std::span<const LabelledRow> rows, std::int64_t batch, const ProgressCallback& progress = {},
                        Communicator& ranks = Communicator::alone());

}  // namespace tapeformer
