// The head of a language model, which predicts tokens, and its loss.
#pragma once

#include "autograd/ops/losses/losses.h"
#include "nn/layers/layers.h"

namespace tapeformer {

// Features and the targets that are predicted from them.
struct TokenPrediction {
  Variable features;  // (…, F)
  Tensor targets;     // i32, one for each row of the features; kIgnoredTarget: not scored
};

// Returns the cross-entropy of logits (…, vocab) and one target (i32) for each of their rows.
Variable loss_of_logits(const Variable& logits, const Tensor& targets, const CrossEntropyOptions& options);

// Predicts tokens from features: logits = x Wᵀ + b, or softcap(x Wᵀ + b). weight (vocab, dim), bias (vocab) or none.
class LMHead : public Module {
 public:
  // If `tied`, the weight is that of the embedding, which must be `dim` wide (Error otherwise); else the head has its
  // own weight with the initial values `init`. A bias is initially zero. `softcap` bounds the logits; 0: no bound.
  LMHead(const Embedding& embedding, bool tied, std::int64_t dim, bool with_bias, const Init& init, DType dtype,
         double softcap = 0);

  // x (…, dim) → (…, vocab)
  Variable logits(const Variable& x) const;
  // Returns the cross-entropy of x (…, dim) and one target (i32) for each of its rows. All logits are in memory at once
  // only if the head has hooks.
  Variable loss(const Variable& x, const Tensor& targets, const CrossEntropyOptions& options) const;

  Variable weight;
  Variable bias;  // undefined without bias

 private:
  double softcap_;
};

}  // namespace tapeformer
