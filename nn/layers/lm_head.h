// The last layer of a model of text.
#pragma once

#include "autograd/ops/losses/losses.h"
#include "nn/layers/layers.h"

namespace tapeformer {

// The cross-entropy of targets i32, as many as logits (…, vocab) has rows.
Variable loss_of_logits(const Variable& logits, const Tensor& targets, const CrossEntropyOptions& options);

// Predicts tokens from features: logits = x Wᵀ + b. weight (vocab, dim), bias (vocab) or none.
class LMHead : public Module {
 public:
  // The weight is the embedding's where `tied`; else it is the head's own and begins by `init`. A bias begins at zero.
  // Throws Error when the embedding is tied and not `dim` wide.
  LMHead(const Embedding& embedding, bool tied, std::int64_t dim, bool with_bias, const Init& init, DType dtype);

  // x (…, dim) → (…, vocab)
  Variable logits(const Variable& x) const;
  // The cross-entropy of targets i32, as many as x (…, dim) has rows. Never holds all logits, unless there are hooks to
  // see them.
  Variable loss(const Variable& x, const Tensor& targets, const CrossEntropyOptions& options) const;

  Variable weight;
  Variable bias;  // undefined without bias
};

}  // namespace tapeformer
