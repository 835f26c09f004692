// Attention (attention.cpp, additive_attention.cpp).
#pragma once

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
// softmax(mask(scale·q kᵀ)) v: q (B, h, T_q, d_k), k (B, h, T_k, d_k), v (B, h, T_k, d_v) → (B, h, T_q, d_v). A query
// that may see no key gives zeros. The result lies in memory as (B, T_q, h, d_v), so that joining the heads is a view.
Variable scaled_dot_product_attention(const Variable& q, const Variable& k, const Variable& v,
                                      const AttentionOptions& options);

// The same of heads that lie side by side, which are read and whose gradients are written in place:
// qkv (B, T, 3·h·d), in each row q, k and v one after another, h heads each → (B, T, h·d).
Variable packed_self_attention(const Variable& qkv, std::int64_t heads, const AttentionOptions& options);
// q (B, T_q, h·d), kv (B, T_k, 2·h·d), in each row k and v one after another → (B, T_q, h·d).
Variable packed_cross_attention(const Variable& q, const Variable& kv, std::int64_t heads,
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
