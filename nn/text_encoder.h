// What training, evaluation and probing know of a model that reads a whole text at once and gives each token a vector
// that depends on the tokens on both sides of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autograd/ops/losses.h"
#include "nn/module.h"

namespace tapeformer {

// Rows of a text: ids i32 (B, T). Row b has lengths[b] tokens (i32 (B)), and padding behind them; without lengths every
// row is full.
struct TextRows {
  Variable ids;
  Tensor lengths = {};
};

// One of the ways in which a model predicts tokens of a batch of rows.
struct TokenPrediction {
  Variable features;  // (…, F), from which logits() predicts the targets
  Tensor targets;     // i32, one for each row of the features; kIgnoredTarget where nothing is scored
};

class TextEncoder : public Module {
 public:
  virtual std::int64_t vocab() const = 0;
  // The most tokens of a row; nothing where there is no limit.
  virtual std::optional<std::int64_t> context() const = 0;

  // The vectors of the tokens (B, T, F): those of the embedding, which know nothing of other tokens, then those of each
  // layer. What stands at padding has no meaning.
  virtual std::vector<Variable> representations(const TextRows& rows) const = 0;
  // What training predicts; all of them score the same number of targets. And what they are called ("forward").
  virtual std::vector<TokenPrediction> predictions(const TextRows& rows) const = 0;
  virtual std::vector<std::string> prediction_names() const = 0;
  // The targets that each of the predictions scores in a row of `length` tokens.
  virtual std::int64_t scored_targets(std::int64_t length) const = 0;
  // Features (…, F) → logits (…, vocab).
  virtual Variable logits(const Variable& features) const = 0;
  // The cross-entropy of predictions (features (…, F)), as ops.h defines it. Never holds all logits.
  virtual Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const = 0;

  // What training minimises: the mean of the losses of all predictions. A normalizer is the number of targets that each
  // of them scores.
  Variable loss(const TextRows& rows, const CrossEntropyOptions& options) const;
};

}  // namespace tapeformer
