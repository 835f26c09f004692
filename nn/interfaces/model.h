// The interface of models that read a whole text at once and give each token a vector that depends on the tokens on
// both sides of it, for training, evaluation and probing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autograd/ops/losses/losses.h"
#include "nn/module/module.h"

namespace tapeformer {

// A batch of rows of text: ids i32 (B, T). Row b has lengths[b] tokens (i32 (B)), followed by padding; without lengths
// every row is full.
struct Batch {
  Variable ids;
  Tensor lengths = {};
  // i32 (B, T): 0 for tokens of the first segment of a row, 1 for tokens of the second segment. Undefined: all tokens
  // are in the first segment.
  Tensor segments = {};
};

class Model : public Module {
 public:
  virtual std::int64_t vocab() const = 0;
  // The largest number of tokens of a row; empty if there is no limit.
  virtual std::optional<std::int64_t> context() const = 0;
  // Whether rows have special tokens: they begin with [CLS] and end with [SEP].
  virtual bool has_special_tokens() const { return false; }
  // Whether a token's vectors depend only on the token and the tokens before it.
  virtual bool is_causal() const { return false; }

  // Returns the vectors of the tokens (B, T, F): first those of the embedding, which do not depend on other tokens,
  // then those of each layer. The vectors of padding have no meaning.
  virtual std::vector<Variable> hidden_states(const Batch& rows) const = 0;
  // Features (…, F) → logits (…, vocab).
  virtual Variable logits(const Variable& features) const = 0;
  // Returns the cross-entropy, as ops.h defines it, of features (…, F) and one target (i32) for each of their rows. The
  // logits are never in memory all at once.
  virtual Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const = 0;
};

// Features of a batch of rows and the targets that are predicted from them.
struct TokenPrediction {
  Variable features;  // (…, F): logits() predicts the targets from them
  Tensor targets;     // i32, one for each row of the features; kIgnoredTarget: not scored
};

// A text encoder that learns to predict each token from the tokens before it, and from the tokens after it.
class BidirectionalLanguageModel : public Model {
 public:
  // The predictions that training scores, each with the same number of targets, and their names ("forward").
  virtual std::vector<TokenPrediction> predictions(const Batch& rows) const = 0;
  virtual std::vector<std::string> prediction_names() const = 0;
  // The number of targets that each prediction scores in a row of `length` tokens.
  virtual std::int64_t scored_targets(std::int64_t length) const = 0;

  using Model::loss;
  // Returns the training loss: the mean of the losses of all predictions. A normalizer is the number of targets that
  // each prediction scores.
  Variable loss(const Batch& rows, const CrossEntropyOptions& options) const;
};

// Rows of text with masked positions, whose tokens are predicted. Most, but not all, masked positions hold [MASK].
struct MaskedRows {
  Batch text;
  // i32 (B, T): the original token at each masked position, kIgnoredTarget at the others.
  Tensor targets;
  // i32 (B), for next-sentence prediction: 0 if the second segment follows the first one in the text, 1 if it does not,
  // kIgnoredTarget if the row is not scored. Undefined without next-sentence prediction.
  Tensor sentence_labels = {};
};

// A text encoder that learns to predict the tokens at masked positions (Devlin et al. 2019).
class MaskedLanguageModel : public Model {
 public:
  bool has_special_tokens() const override { return true; }
  // Returns the features of every token (B, T, F), from which logits() predicts the token.
  virtual Variable forward(const Batch& rows) const = 0;
  // Whether the model has next-sentence prediction. next_sentence_logits() maps the features of forward() (B, T, F) to
  // logits (B, 2); the first one means that the second segment follows the first.
  virtual bool predicts_next_sentence() const = 0;
  virtual Variable next_sentence_logits(const Variable& features) const = 0;

  using Model::loss;
  // Returns the training loss: the cross-entropy of the masked positions plus, with next-sentence prediction, that of
  // the labels. The options are for the tokens; the sum over the labels is divided by `sentences` (0: by their number).
  // Only the masked positions go through the head. There must be at least one masked position, or labels.
  Variable loss(const MaskedRows& rows, const CrossEntropyOptions& options, double sentences = 0) const;
};

// Selects from features (B, T, F) the positions whose target is scored. Returns their features (N, F) and targets i32
// (N), in order.
TokenPrediction scored_places(const Variable& features, const Tensor& targets);

}  // namespace tapeformer
