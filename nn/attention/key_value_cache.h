// What attention layers keep of the tokens that they have read, for generation.
#pragma once

#include <span>

#include "autograd/tensor/tensor.h"

namespace tapeformer {

// The keys (B, g, length, d) and values (B, g, length, d_v) of one attention layer with g heads, for the tokens seen so
// far, at most `capacity`. Memory grows by doubling. Under MatmulPrecision::medium keys and values of f32 are kept in
// bf16, to which products round them anyway, except under BatchInvariant.
class KeyValueCache {
 public:
  explicit KeyValueCache(std::int64_t capacity) : capacity_(capacity) {}

  std::int64_t length() const { return length_; }
  void clear() { length_ = 0; }
  // Replaces row i of the batch by the old row rows[i]. A row may be used several times, or not at all.
  void select(std::span<const std::int64_t> rows);
  // Appends k (B, g, T, d), after its norm and rotation, and v (B, g, T, d_v). Throws Error if they exceed the
  // capacity, or if B changes before clear().
  void append(const Tensor& k, const Tensor& v);
  Tensor keys() const { return keys_.slice(2, 0, length_); }
  Tensor values() const { return values_.slice(2, 0, length_); }

 private:
  void reserve(const Tensor& k, const Tensor& v, std::int64_t length);

  std::int64_t capacity_, length_ = 0;
  Tensor keys_, values_;  // (B, g, allocated length, d) and (B, g, allocated length, d_v)
};

// The sums of one layer of linear attention with g heads of keys over the tokens seen so far. Their memory does not
// depend on the number of tokens.
class LinearAttentionCache {
 public:
  std::int64_t length() const { return length_; }
  void clear() { sums_ = {}, length_ = 0; }
  // Replaces row i of the batch by the old row rows[i]. A row may be used several times, or not at all.
  void select(std::span<const std::int64_t> rows);
  // Returns the sums (B, g, d, d_v + 1) that linear_attention() continues (LinearAttentionOptions), and counts the
  // `tokens` that it will add; at first the sums are zero. Throws Error if B changes before clear().
  Tensor extend(const Dims& sizes, DType dtype, std::int64_t tokens);
  const Tensor& sums() const { return sums_; }

 private:
  std::int64_t length_ = 0;
  Tensor sums_;
};

}  // namespace tapeformer
