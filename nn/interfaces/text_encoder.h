// Models that read a whole text at once and give each token a vector that depends on the tokens on both sides of it:
// what training, evaluation and probing know of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autograd/ops/losses/losses.h"
#include "nn/module/module.h"

namespace tapeformer {

// Rows of a text: ids i32 (B, T). Row b has lengths[b] tokens (i32 (B)), and padding behind them; without lengths every
// row is full.
struct EncoderBatch {
  Variable ids;
  Tensor lengths = {};
  // i32 (B, T): whether a token is of the first segment of its row (0) or of the second (1), for a model that tells
  // them apart; undefined: all are of the first.
  Tensor segments = {};
};

class TextEncoder : public Module {
 public:
  virtual std::int64_t vocab() const = 0;
  // The most tokens of a row; nothing where there is no limit.
  virtual std::optional<std::int64_t> context() const = 0;
  // Whether its rows begin with [CLS] and end with [SEP].
  virtual bool reads_marked_rows() const { return false; }
  // Whether a token's vectors know the tokens before it and none behind it.
  virtual bool is_causal() const { return false; }

  // The vectors of the tokens (B, T, F): those of the embedding, which know nothing of other tokens, then those of each
  // layer. What stands at padding has no meaning.
  virtual std::vector<Variable> hidden_states(const EncoderBatch& rows) const = 0;
  // Features (…, F), from which a token is predicted, → logits (…, vocab).
  virtual Variable logits(const Variable& features) const = 0;
  // The cross-entropy of predictions: features (…, F), as many targets i32 as they have rows. As ops.h defines it;
  // never holds all logits.
  virtual Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const = 0;
};

// One of the ways in which a model predicts tokens of a batch of rows.
struct TokenPrediction {
  Variable features;  // (…, F), from which logits() predicts the targets
  Tensor targets;     // i32, one for each row of the features; kIgnoredTarget where nothing is scored
};

// A text encoder that learns to predict each token from those before it, and from those behind it.
class BidirectionalLanguageModel : public TextEncoder {
 public:
  // What training predicts; all of them score the same number of targets. And what they are called ("forward").
  virtual std::vector<TokenPrediction> predictions(const EncoderBatch& rows) const = 0;
  virtual std::vector<std::string> prediction_names() const = 0;
  // The targets that each of the predictions scores in a row of `length` tokens.
  virtual std::int64_t scored_targets(std::int64_t length) const = 0;

  using TextEncoder::loss;
  // What training minimises: the mean of the losses of all predictions. A normalizer is the number of targets that each
  // of them scores.
  Variable loss(const EncoderBatch& rows, const CrossEntropyOptions& options) const;
};

// Rows of a text in which some tokens were chosen to be predicted, and most of the chosen ones masked.
struct MaskedRows {
  EncoderBatch text;
  // i32 (B, T): what stood at a chosen place, and kIgnoredTarget at the others.
  Tensor targets;
  // i32 (B), for next-sentence prediction: 0 where the second segment follows the first one in the text, 1 where it
  // does not, kIgnoredTarget where nothing is asked. Undefined without it.
  Tensor sentence_labels = {};
};

// A text encoder that learns to predict tokens which are masked in its input (Devlin et al. 2019).
class MaskedLanguageModel : public TextEncoder {
 public:
  bool reads_marked_rows() const override { return true; }
  // The features of every token (B, T, F), from which logits() predicts it.
  virtual Variable forward(const EncoderBatch& rows) const = 0;
  // Whether it predicts whether the second segment follows the first; and the logits of that, features of forward()
  // (B, T, F) → (B, 2), of which the first says that it does.
  virtual bool predicts_next_sentence() const = 0;
  virtual Variable next_sentence_logits(const Variable& features) const = 0;

  using TextEncoder::loss;
  // What training minimises: the cross-entropy of the chosen tokens and, with next-sentence prediction, that of the
  // labels. The options are those of the tokens; the labels' sum is divided by `sentences` (0: by their number). Only
  // the chosen places reach the head. There must be one, or labels.
  Variable loss(const MaskedRows& rows, const CrossEntropyOptions& options, double sentences = 0) const;
};

// The features at the places whose target is scored, (N, F), and these targets i32 (N), in order. Features (B, T, F).
TokenPrediction scored_places(const Variable& features, const Tensor& targets);

}  // namespace tapeformer
