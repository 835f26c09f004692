// Multi-head attention and the cache that serves generation.
#pragma once

#include "nn/block_config.h"
#include "nn/layers.h"

namespace tapeformer {

// Keys and values of the tokens seen so far, of one attention layer: (B, h, length, d_k) each, growing up to
// `capacity`.
class KeyValueCache {
 public:
  explicit KeyValueCache(std::int64_t capacity) : capacity_(capacity) {}

  std::int64_t length() const { return length_; }
  void clear() { length_ = 0; }
  // Appends k and v (B, h, T, d_k). Throws Error past the capacity, or when B changes before clear().
  void append(const Tensor& k, const Tensor& v);
  Tensor keys() const { return keys_.slice(2, 0, length_); }
  Tensor values() const { return values_.slice(2, 0, length_); }

 private:
  std::int64_t capacity_, length_ = 0;
  Tensor keys_, values_;
};

// Causal self-attention (Vaswani et al. 2017, section 3.2.2): Q, K, V from one stream by one fused product, heads
// joined, times W_O. norm(x) (B, T, dim) → (B, T, dim).
class MultiHeadAttention : public Module {
 public:
  // Throws UsageError when heads does not divide dim.
  explicit MultiHeadAttention(const BlockConfig& config);
  // With a cache, x continues the cached tokens: its queries see them too. Only without recording.
  Variable forward(const Variable& x, const NormWeights& norm, KeyValueCache* cache = nullptr) const;

  Linear qkv, out;

 private:
  std::int64_t heads_;
  double dropout_;
};

}  // namespace tapeformer
