// Attention (attention.cpp, head_transform.cpp, additive_attention.cpp).
#pragma once

#include "autograd/kernels/attention/rotary_pairs.h"
#include "autograd/tape/variable.h"

namespace tapeformer {

struct AttentionOptions {
  bool causal = false;   // query i of T_q stands at position i + T_k − T_q and sees keys up to it
  Tensor key_lengths{};  // i32 (B): keys at or past this length are padding; undefined: none are
  // i32 (B, T_q): a query sees no key before its first one, which never decreases along a row; undefined: key 0 for
  // all. A causal query sees itself: its first key is at most its own position.
  Tensor key_begin{};
  double dropout = 0;  // on the attention weights, while training
  double scale = 0;    // 0: 1/√d_k
};
// softmax(mask(scale·q kᵀ)) v: q (B, h, T_q, d_k), k (B, g, T_k, d_k), v (B, g, T_k, d_v) → (B, h, T_q, d_v), where g
// divides h: query head i reads head i/(h/g) of k and v (grouped queries, Ainslie et al. 2023). A query that may see no
// key gives zeros. The result lies in memory as (B, T_q, h, d_v), so that joining the heads is a view.
Variable scaled_dot_product_attention(const Variable& q, const Variable& k, const Variable& v,
                                      const AttentionOptions& options);

// How tokens' positions turn the vectors of heads (rotary positions, Su et al. 2021).
struct Rotation {
  Tensor table{};      // (P, d), of rotation_table(); undefined: nothing turns
  Tensor positions{};  // i32 (B, T): each token's row of the table; undefined: token t has row t
  RotaryPairs pairs = RotaryPairs::halves;
};
// Row k of (count, d): cos and sin of the angles (first + k)·base^(−2i/d), i < d/2, computed in double: all cosines,
// then all sines.
Tensor rotation_table(std::int64_t first, std::int64_t count, std::int64_t d, double base, DType dtype);

// What queries and keys go through before their product.
struct HeadTransform {
  double norm_eps = 1e-5;  // of the RMS norm of each head, where a weight is given (QK-norm, Henry et al. 2020)
  Rotation rotation{};     // afterwards
};
// x (B, T, h·d) → the same sizes: each head normalised with weight (d), or not where that is undefined, then turned
// (head_transform.cpp).
Variable transform_heads(const Variable& x, const Variable& weight, std::int64_t heads, const HeadTransform& how);

// Heads that lie side by side in rows.
struct HeadLayout {
  HeadLayout(std::int64_t heads, std::int64_t kv_heads = 0, std::int64_t value_dim = 0)
      : queries(heads), keys(kv_heads ? kv_heads : heads), value_dim(value_dim) {}
  std::int64_t queries, keys;  // the heads of q; those of k and of v, a divisor
  std::int64_t value_dim;      // d_v, the width of a head of v; 0: that of q and k
};
struct HeadWeights {
  Variable q, k;  // of transform_heads(); may be undefined
};

// The same attention of heads that lie side by side, which are read and whose gradients are written in place:
// qkv (B, T, (h + g)·d + g·d_v), in each row q of h heads, then k and v of g heads → (B, T, h·d_v). Queries and keys go
// through transform_heads(), without a tensor that is kept for backward.
Variable packed_self_attention(const Variable& qkv, const HeadLayout& heads, const AttentionOptions& options,
                               const HeadWeights& weights = {}, const HeadTransform& transform = {});
// q (B, T_q, h·d), kv (B, T_k, g·(d + d_v)), in each row k and v one after another → (B, T_q, h·d_v).
Variable packed_cross_attention(const Variable& q, const Variable& kv, const HeadLayout& heads,
                                const AttentionOptions& options);

struct AttentionResult {
  Variable output, weights;
};
// Additive attention (Bahdanau et al. 2015): weights (B, T_q, T_k) = softmax over the keys of Σ_a w_a tanh(q_a + k_a),
// output (B, T_q, d_v) = weights·v, for q (B, T_q, d), k (B, T_k, d), weight w (d), v (B, T_k, d_v). Keys at or past
// key_lengths, i32 (B) or undefined, are padding and have the weight 0; a query without keys gives zeros.
AttentionResult additive_attention(const Variable& q, const Variable& k, const Variable& weight, const Variable& v,
                                   const Tensor& key_lengths = {});

}  // namespace tapeformer
