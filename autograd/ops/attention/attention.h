// Attention (attention.cpp, head_transform.cpp, additive_attention.cpp).
#pragma once

#include <span>
#include <vector>

#include "autograd/kernels/attention/rotary_pairs.h"
#include "autograd/tape/variable.h"

namespace tapeformer {

struct AttentionOptions {
  bool causal = false;   // query i of T_q has position i + T_k − T_q and sees the keys up to this position
  Tensor key_lengths{};  // i32 (B): keys at or past this length are padding; undefined: no padding
  // i32 (B, T_q): the first key that each query sees. It must not decrease along a row, and a causal query must see
  // itself: its first key is at most its own position. Undefined: every query sees from key 0 on.
  Tensor key_begin{};
  double dropout = 0;  // on the attention weights, while training
  double scale = 0;    // 0: 1/√d_k
};
// softmax(mask(scale·q kᵀ)) v: q (B, h, T_q, d_k), k (B, g, T_k, d_k), v (B, g, T_k, d_v) → (B, h, T_q, d_v), where g
// divides h: query head i reads head i/(h/g) of k and v (grouped queries, Ainslie et al. 2023). A query that may see no
// key gives zeros. The memory layout of the result is (B, T_q, h, d_v), so that joining the heads is a view.
Variable scaled_dot_product_attention(const Variable& q, const Variable& k, const Variable& v,
                                      const AttentionOptions& options);

// Computes scaled_dot_product_attention() over the keys and values of a cache, which have q's dtype or, where q is f32,
// bf16. It records nothing (cached_attention.cpp).
Tensor cached_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);

struct LinearAttentionOptions {
  // i32 (B, T): the first key that each query sees, where its document begins: the one of the query before, or the
  // query itself. Undefined: every query sees from key 0 on.
  Tensor key_begin{};
  // (B, g, d_k, d_v + 1), contiguous: the sums over the tokens before those of q, k and v. The op adds theirs to it,
  // and must not be recorded. Undefined: there are none before.
  Tensor state{};
};
// Causal linear attention (Katharopoulos et al. 2020, equations 9 to 12): y_t = S_tᵀφ(q_t)/(φ(q_t)·z_t) with
// S_t = Σ_{j≤t} φ(k_j) v_jᵀ, z_t = Σ_{j≤t} φ(k_j) and φ(x) = elu(x) + 1. Sizes, groups and the layout of the result are
// those of scaled_dot_product_attention() with T_q = T_k = T. The state holds S, and z as its last column. The work
// grows linearly with T (linear_attention.cpp).
Variable linear_attention(const Variable& q, const Variable& k, const Variable& v,
                          const LinearAttentionOptions& options = {});

// How the vectors of heads are rotated by the positions of their tokens (rotary positions, Su et al. 2021).
struct Rotation {
  Tensor table{};      // (P, d), made by rotation_table(); undefined: no rotation
  Tensor positions{};  // i32 (B, T): each token's row of the table; undefined: token t uses row t
  RotaryPairs pairs = RotaryPairs::halves;
};
// Returns the angles base^(−2i/d), i < d/2, of which a table is made.
std::vector<double> rotation_angles(std::int64_t d, double base);
// Returns (count, d). Row k holds the cosines, then the sines, of the angles (first + k)·angles[i], i < d/2, computed
// in double.
Tensor rotation_table(std::int64_t first, std::int64_t count, std::span<const double> angles, DType dtype);

// The transformation of queries and keys before their product: first an RMS norm of each head, then a rotation.
struct HeadTransform {
  double norm_eps = 1e-5;  // of the RMS norm, used if a weight is given (QK-norm, Henry et al. 2020)
  Rotation rotation{};
};
// x (B, T, h·d) → the same sizes. Each head is normalised and multiplied by weight (d), unless the weight is undefined,
// and then rotated (head_transform.cpp).
Variable transform_heads(const Variable& x, const Variable& weight, std::int64_t heads, const HeadTransform& how);

// The heads of q, k and v that lie side by side in a row.
struct HeadLayout {
  HeadLayout(std::int64_t heads, std::int64_t kv_heads = 0, std::int64_t value_dim = 0)
      : queries(heads), keys(kv_heads ? kv_heads : heads), value_dim(value_dim) {}
  std::int64_t queries, keys;  // the number of heads of q; that of k and of v, which divides it
  std::int64_t value_dim;      // d_v, the width of a head of v; 0: the same as of q and k
};
struct HeadWeights {
  Variable q, k;  // the weights for transform_heads(); may be undefined
};

// Computes the same attention for a packed tensor, without copies of its parts: qkv (B, T, (h + g)·d + g·d_v) → (B, T,
// h·d_v). Each row of qkv holds the h heads of q, then the g heads of k, then the g heads of v. Queries and keys go
// through transform_heads(); the transformed ones are not kept for backward.
Variable packed_self_attention(const Variable& qkv, const HeadLayout& heads, const AttentionOptions& options,
                               const HeadWeights& weights = {}, const HeadTransform& transform = {});
// q (B, T_q, h·d), kv (B, T_k, g·(d + d_v)) → (B, T_q, h·d_v). Each row of kv holds the heads of k, then the heads of
// v.
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
