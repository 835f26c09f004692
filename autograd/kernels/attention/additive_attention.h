// Additive attention (Bahdanau et al. 2015). For a query q of a sentence, its keys k_j and its values v_j,
//
//   e_j = Σ_a w_a tanh(q_a + k_ja),  α = softmax(e) over the keys that are no padding,  o = Σ_j α_j v_j
//
// and backward, of a gradient do and of one dα that reaches the weights themselves:
//
//   dv_j += α_j do,  g_j = do·v_j + dα_j,  de_j = α_j (g_j − Σ_i α_i g_i)
//   dw_a += Σ_j de_j tanh(q_a + k_ja),  dk_ja += de_j w_a (1 − tanh²(q_a + k_ja)),  dq_a += Σ_j of the same
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

struct AdditiveShape {
  std::int64_t batches, queries, keys, dim, value_dim;
  const std::int32_t* key_lengths = nullptr;  // (batches): keys at or past this length are padding; null: none are
};

// All arrays are contiguous: q (batches, queries, dim), k (batches, keys, dim), w (dim), v (batches, keys, value_dim).
template <class T>
struct AdditiveInputs {
  const T *q, *k, *w, *v;
};

// o (batches, queries, value_dim) and weights α (batches, queries, keys), which are zero at padding. A query without
// keys gives zeros. A result has the same bits whatever else is in the batch and however long the padding is.
template <class T>
void additive_attention_forward(T* o, T* weights, const AdditiveInputs<T>& in, const AdditiveShape& shape);

// What is added to, each null where it is not wanted. dw has a part for every batch, (batches, dim), to be added up.
template <class T>
struct AdditiveGradients {
  T *dq, *dk, *dw, *dv;
};
// dout and dweights are null where no gradient reaches them.
template <class T>
void additive_attention_backward(const AdditiveGradients<T>& gradients, const T* dout, const T* dweights,
                                 const T* weights, const AdditiveInputs<T>& in, const AdditiveShape& shape);

}  // namespace tapeformer::kernels
