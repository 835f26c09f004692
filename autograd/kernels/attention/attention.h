// Scaled dot-product attention, fused: O = dropout(softmax(mask(scale·Q Kᵀ))) V for every batch and head, one block of
// query rows at a time; the scores of one block are the largest thing ever stored (Rabe & Staats 2021, Dao et al.
// 2022).
#pragma once

#include <cstdint>

#include "core/random.h"

namespace tapeformer::kernels {

// Head h of row t of batch b begins b·batch + t·row + h·head elements from the pointer. Its elements are contiguous.
struct AttentionStrides {
  std::int64_t batch, row, head;
};

struct AttentionShape {
  std::int64_t batches, heads, queries, keys;  // B, h, T_q, T_k
  std::int64_t query_dim, value_dim;           // d_k of Q and K; d_v of V and O
  double scale;                                // usually 1/√d_k
  // Query i stands at position i + (keys − queries): it sees keys up to and including that position.
  bool causal = false;
  // (B): keys at or past this length are padding; null: none is. It may be combined with `causal`. A query with no
  // allowed key gives zeros.
  const std::int32_t* key_lengths = nullptr;
  // (B, T_q): the first key that each query sees; those before it may belong to another document. It never decreases
  // from one query of a batch row to the next. null: all begin at key 0. It may be combined with the other two.
  const std::int32_t* key_begin = nullptr;
  // Dropout on the weights: element ((b·h + head)·T_q + i)·T_k + j of the key's sequence, as in dropout.h.
  double dropout = 0;
  RandomKey dropout_key = {};
  // Query head h reads head h/group of K and V, of which there are heads/group (grouped queries, Ainslie et al. 2023).
  std::int64_t group = 1;
  std::int64_t kv_heads() const { return heads / group; }
};

// log_sum_exp (B, h, T_q), kept for backward: log Σ_j e^score of each row, −∞ for a row with no allowed key.
template <class T>
void attention_forward(T* o, AttentionStrides o_strides, T* log_sum_exp, const T* q, AttentionStrides q_strides,
                       const T* k, AttentionStrides k_strides, const T* v, AttentionStrides v_strides,
                       const AttentionShape& shape);

// Recomputes P from the log-sum-exp. With M the dropout mask over (1 − p):
//   dV = (P∘M)ᵀ dO;  dP = (dO Vᵀ)∘M;  dS = P∘(dP − rowsum(dO∘O));  dQ = scale·dS K;  dK = scale·dSᵀ Q
// where dK and dV are summed over the query heads of a group, in their order.
// Each gradient becomes beta·gradient + the above; null: not wanted. dq, dk, dv have their own strides. The memory
// needed beside the gradients grows linearly with queries and keys.
template <class T>
struct AttentionGradient {
  T* data = nullptr;
  AttentionStrides strides{};
  T beta = 0;
};
template <class T>
void attention_backward(AttentionGradient<T> dq, AttentionGradient<T> dk, AttentionGradient<T> dv, const T* dout,
                        AttentionStrides dout_strides, const T* o, AttentionStrides o_strides, const T* log_sum_exp,
                        const T* q, AttentionStrides q_strides, const T* k, AttentionStrides k_strides, const T* v,
                        AttentionStrides v_strides, const AttentionShape& shape);

}  // namespace tapeformer::kernels
