// Causal linear attention (Katharopoulos et al. 2020) in chunks of tokens: within a chunk it multiplies the scores of
// all pairs of its tokens; what came before the chunk is in the sums S' = Σ φ(k_j) [v_j, 1]ᵀ, whose last column is the
// sum of the φ(k_j) alone.
#pragma once

#include <cstdint>

#include "autograd/kernels/attention/attention.h"

namespace tapeformer::kernels {

struct LinearAttentionShape {
  std::int64_t batches, heads, length;  // B, h, T
  std::int64_t query_dim, value_dim;    // d_k, d_v
  std::int64_t group = 1;               // query head h reads head h/group of k and v
  // (B, T): where the document of each token begins; null: at token 0.
  const std::int32_t* key_begin = nullptr;
  std::int64_t kv_heads() const { return heads / group; }
};

// With φ(x) = elu(x) + 1, of every head and row, over the tokens j up to t of its document:
//   [n_t, normalizer_t] = Σ_j (φ(q_t)·φ(k_j)) [v_j, 1];  o_t = n_t/normalizer_t
// normalizer (B, h, T) is kept for backward. state (B, g, d_k, d_v + 1) holds S' of the tokens before, and becomes that
// of all tokens; null: there are none before.
template <class T>
void linear_attention_forward(T* o, AttentionStrides o_strides, T* normalizer, T* state, const T* q,
                              AttentionStrides q_strides, const T* k, AttentionStrides k_strides, const T* v,
                              AttentionStrides v_strides, const LinearAttentionShape& shape);

// With dn_t = do_t/normalizer_t and dnormalizer_t = −(do_t·o_t)/normalizer_t, G_t = [dn_t, dnormalizer_t], V' = [v, 1]:
//   dφ(q_t) = Σ_{j≤t} (G_t·V'_j) φ(k_j);  dφ(k_j) = Σ_{t≥j} (G_t·V'_j) φ(q_t);  dv_j = Σ_{t≥j} (φ(q_t)·φ(k_j)) dn_t
//   dx = φ'(x)·dφ(x), φ'(x) = 1 for x > 0, else e^x
// Each gradient becomes beta·gradient + the above; null: not wanted.
template <class T>
void linear_attention_backward(AttentionGradient<T> dq, AttentionGradient<T> dk, AttentionGradient<T> dv, const T* dout,
                               AttentionStrides dout_strides, const T* o, AttentionStrides o_strides,
                               const T* normalizer, const T* q, AttentionStrides q_strides, const T* k,
                               AttentionStrides k_strides, const T* v, AttentionStrides v_strides,
                               const LinearAttentionShape& shape);

}  // namespace tapeformer::kernels
