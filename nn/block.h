// The Transformer's blocks.
#pragma once

#include "nn/attention.h"

namespace tapeformer {

// act(norm(x) W1 + b1) W2 + b2: x (…, dim) → (…, dim).
class FeedForward : public Module {
 public:
  explicit FeedForward(const BlockConfig& config);
  Variable forward(const Variable& x, const NormWeights& norm) const;

  Linear up, down;

 private:
  ActivationKind activation_;
};

// Self-attention and feed-forward, each with dropout, residual and norm in the place that the configuration says.
class Block : public Module {
 public:
  explicit Block(const BlockConfig& config);
  Variable forward(const Variable& x, KeyValueCache* cache = nullptr) const;

  LayerNorm attention_norm;
  MultiHeadAttention attention;
  LayerNorm feed_forward_norm;
  FeedForward feed_forward;

 private:
  // x + dropout(sub(norm(x))), or norm(x + dropout(sub(x))); sub takes x and the norm in front of it, if any.
  template <class Sub>
  Variable residual(const Variable& x, const LayerNorm& norm, const Sub& sub) const;

  NormPlace norm_place_;
  Dropout dropout_;
};

}  // namespace tapeformer
