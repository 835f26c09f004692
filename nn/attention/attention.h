// Multi-head attention.
#pragma once

#include "autograd/ops/attention/attention.h"
#include "nn/attention/key_value_cache.h"
#include "nn/interfaces/encoder_decoder.h"
#include "nn/layers/block_config.h"
#include "nn/layers/layers.h"
#include "nn/layers/norm.h"

namespace tapeformer {

// Returns the width of a head's queries and keys. Throws UsageError if it is dim / heads and heads does not divide dim.
std::int64_t head_dim(const BlockConfig& config);
// Returns the numbers of heads, and the width of a head's values. Throws UsageError as head_dim() does, and if kv_heads
// does not divide heads.
HeadLayout head_layout(const BlockConfig& config);

// The mask of self-attention, which says to which tokens of its own row a token may attend.
struct SelfMask {
  bool causal = true;  // a token attends only to tokens up to itself
  Tensor lengths{};  // i32 (B): tokens at or past a row's length are padding, to which no token attends; undefined: no
                     // padding
  // i32 (B, T): the first token to which each token attends (see AttentionOptions); undefined: token 0
  Tensor key_begin{};
};

// For a value residual: passes the values of the first layer, (B, T, g·d_v), to the later layers.
struct FirstLayerValues {
  Variable values = {};          // in a later layer: the first layer's values, which it mixes into its own
  Variable* store_to = nullptr;  // in the first layer: where it stores its values
};

// Returns the weights (B, h, T_q, T_k) of scaled_dot_product_attention() before dropout, for observers. The op itself
// never holds all weights at once.
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options);
// Returns the weights (B, h, T, T) of linear_attention() for q (B, h, T, d) and k (B, g, T, d): φ(q_t)·φ(k_s) over
// their sum.
Tensor linear_attention_weights(const Tensor& q, const Tensor& k, const Tensor& key_begin);

// The names of the tensors that self-attention without a cache passes to its tape's observer (TapeOptions), layer after
// layer.
//
// kSelfAttentionWeights: its weights (R, h, T, T) before dropout; the weights of a query sum to 1.
//
// kSelfAttentionHeads: what each head adds to the residual stream, (R, h, T, dim): the weighted mean of its values,
// times its columns of W_O. The sum over all heads, plus the bias of W_O, is the output of the layer.
//
// The names for cross-attention are in encoder_decoder.h.
inline constexpr std::string_view kSelfAttentionWeights = "self_attention.weights";
inline constexpr std::string_view kSelfAttentionHeads = "self_attention.heads";

// The heads of an attention layer, and what is done to their queries and keys.
struct AttentionHeads : HeadLayout {
  // Throws UsageError if head_dim is 0 and heads does not divide dim, or if kv_heads does not divide heads.
  explicit AttentionHeads(const BlockConfig& config);

  std::int64_t dim;                         // the width of a head's queries and keys
  std::unique_ptr<RmsNorm> q_norm, k_norm;  // null: none
  HeadTransform transform;                  // its rotation is set in each forward pass
  double scale, dropout;                    // factor of the scores (0: 1/√dim); dropout of the weights
  AttentionKind kind;
};

// Self-attention (Vaswani et al. 2017, section 3.2.2): one product gives Q, K and V, and the joined heads are
// multiplied by W_O. x (B, T, dim) → (B, T, dim). If configured, groups of query heads share heads of K and V, and Q
// and K are normalised and rotated by their positions. With a value residual the values are λ·V + (1 − λ)·V₁, where V₁
// are the first layer's values (Zhou et al. 2024), and λ = value_mix (1) is initially 0.5.
class MultiHeadAttention : public Module {
 public:
  // Throws UsageError if head_dim is 0 and heads does not divide dim, or if kv_heads does not divide heads.
  explicit MultiHeadAttention(const BlockConfig& config);
  // With a cache, x continues the cached tokens, and its queries see them too; this needs a tape that does not record.
  // Linear attention uses the cache `linear` instead. `rotation` is for the positions of the tokens of x. If the caller
  // moves x in, x can be freed as soon as Q, K and V are computed.
  Variable forward(Variable x, const SelfMask& mask = {}, KeyValueCache* cache = nullptr, const Rotation& rotation = {},
                   const FirstLayerValues& first = {}, LinearAttentionCache* linear = nullptr) const;
  std::int64_t heads() const { return heads_.queries; }

  Linear qkv, out;
  Variable value_mix;  // undefined without a value residual

 private:
  Variable run(Variable x, const SelfMask& mask, KeyValueCache* cache, const Rotation& rotation,
               const FirstLayerValues& first, LinearAttentionCache* linear) const;
  // Returns the output of linear attention for packed rows of Q, K and V.
  Variable run_linear(const Variable& packed, const SelfMask& mask, LinearAttentionCache* cache) const;
  // Returns the packed rows of Q, K and V with the values mixed as `first` says; V begins at element `begin` of a row.
  Variable mix_values(const Variable& packed, std::int64_t begin, const FirstLayerValues& first) const;

  AttentionHeads heads_;
};

// Cross-attention: Q comes from the decoder, K and V from the encoder's output, whose padding is masked. Q and K are
// not rotated, since the positions of the two texts are unrelated.
class CrossAttention : public Module {
 public:
  explicit CrossAttention(const BlockConfig& config);
  // x (R, T, dim) → (R, T, dim), where R is B or a multiple of it: rows i·R/B … (i + 1)·R/B − 1, such as the hypotheses
  // of a beam, attend to row i of `encoded`. A cache keeps the keys and values from the first call on; it needs a tape
  // that does not record. If the caller moves x in, x can be freed as soon as Q is computed.
  Variable forward(Variable x, const EncoderOutput& encoded, KeyValueCache* cache = nullptr) const;
  std::int64_t heads() const { return heads_.queries; }

  Linear q, kv, out;

 private:
  Variable run(Variable x, const EncoderOutput& encoded, KeyValueCache* cache) const;
  // Returns keys and values of the encoder's output, side by side: (B, S, g·(d + d_v)). The keys are normalised if
  // configured.
  Variable keys_and_values(const Variable& encoded) const;

  AttentionHeads heads_;
};

}  // namespace tapeformer
