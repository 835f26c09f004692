// Multi-head attention and the cache that serves generation.
#pragma once

#include <span>

#include "autograd/ops/attention/attention.h"
#include "nn/interfaces/sequence_to_sequence.h"
#include "nn/layers/block_config.h"
#include "nn/layers/layers.h"
#include "nn/layers/norm.h"

namespace tapeformer {

// The width of a head's queries and keys. Throws UsageError where it is dim / heads and heads does not divide dim.
std::int64_t head_dim(const BlockConfig& config);

// Keys and values of the tokens seen so far, of one attention layer: (B, g, length, d) and (B, g, length, d_v), g
// heads, growing up to `capacity`. Memory grows by doubling.
class KeyValueCache {
 public:
  explicit KeyValueCache(std::int64_t capacity) : capacity_(capacity) {}

  std::int64_t length() const { return length_; }
  void clear() { length_ = 0; }
  // Row i of the batch becomes what row rows[i] was; a row may be taken often, or not at all.
  void select(std::span<const std::int64_t> rows);
  // Appends k (B, g, T, d) and v (B, g, T, d_v), as attention reads them: after their norm and rotation. Throws Error
  // past the capacity, or when B changes before clear().
  void append(const Tensor& k, const Tensor& v);
  Tensor keys() const { return keys_.slice(2, 0, length_); }
  Tensor values() const { return values_.slice(2, 0, length_); }

 private:
  void reserve(const Tensor& k, const Tensor& v, std::int64_t length);

  std::int64_t capacity_, length_ = 0;
  Tensor keys_, values_;  // (B, g, room, d) and (B, g, room, d_v)
};

// Which tokens of its own sequence a token may attend to.
struct SelfMask {
  bool causal = true;  // only those up to itself
  Tensor lengths{};    // i32 (B): tokens past a row's length are padding, which none attends to; undefined: no padding
  // i32 (B, T): the first token that each one attends to (see AttentionOptions); undefined: token 0
  Tensor key_begin{};
};

// The weights (B, h, T_q, T_k) of scaled_dot_product_attention() before dropout, for observers: it never holds them all
// at once itself.
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options);

// The names under which self-attention without a cache shows the observer of its tape (TapeOptions), layer after layer:
// - its weights (R, h, T, T), before dropout; the weights of a query sum to 1;
// - what each head adds to the residual stream, (R, h, T, dim): the weighted mean of its values, times its columns of
//   W_O. The sum over all heads, plus the bias of W_O, is the output of the layer.
// Those of cross-attention are in sequence_to_sequence.h.
inline constexpr std::string_view kSelfAttentionWeights = "self_attention.weights";
inline constexpr std::string_view kSelfAttentionHeads = "self_attention.heads";

// Self-attention (Vaswani et al. 2017, section 3.2.2): one product gives Q, K and V, and the joined heads are
// multiplied by W_O. x (B, T, dim) → (B, T, dim). Where the configuration says so, groups of query heads share heads of
// K and V, and Q and K are normalised and turned by their positions.
class MultiHeadAttention : public Module {
 public:
  // Throws UsageError when heads does not divide dim and head_dim is 0, or kv_heads not heads.
  explicit MultiHeadAttention(const BlockConfig& config);
  // With a cache, x continues the cached tokens: its queries see them too. Only without recording. `rotation` belongs
  // to the tokens of x. A caller that moves x in lets it be freed as soon as Q, K and V are computed.
  Variable forward(Variable x, const SelfMask& mask = {}, KeyValueCache* cache = nullptr,
                   const Rotation& rotation = {}) const;

  Linear qkv, out;

 private:
  Variable run(Variable x, const SelfMask& mask, KeyValueCache* cache, const Rotation& rotation) const;

  HeadLayout heads_;
  std::int64_t head_dim_;
  std::unique_ptr<RmsNorm> q_norm_, k_norm_;
  HeadTransform transform_;
  double dropout_;
};

// Cross-attention: Q comes from the decoder, K and V from the encoder's output, whose padding is masked. Nothing turns
// by positions here, which the two texts do not share.
class CrossAttention : public Module {
 public:
  explicit CrossAttention(const BlockConfig& config);
  // x (R, T, dim) → (R, T, dim), where R is B or a multiple of it: rows i·R/B … (i + 1)·R/B − 1, such as the hypotheses
  // of a beam, look at row i of `encoded`. A cache keeps the keys and values from the first call on; only without
  // recording. A caller that moves x in lets it be freed as soon as Q is computed.
  Variable forward(Variable x, const EncoderOutput& encoded, KeyValueCache* cache = nullptr) const;

  Linear q, kv, out;

 private:
  Variable run(Variable x, const EncoderOutput& encoded, KeyValueCache* cache) const;
  // Keys and values of the encoder's output, side by side: (B, S, g·(d + d_v)), the keys normalised where asked for.
  Variable keys_and_values(const Variable& encoded) const;

  HeadLayout heads_;
  std::int64_t head_dim_;
  std::unique_ptr<RmsNorm> q_norm_, k_norm_;
  HeadTransform transform_;
  double dropout_;
};

}  // namespace tapeformer
