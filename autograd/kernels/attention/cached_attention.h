// Attention of one query of each head to the keys and values of a cache, as in generation. The time goes into reading
// the cache: each of its rows is read once, for all query heads of its group, and long ones in parts, by several
// threads.
#pragma once

#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/gemm/bf16/bf16.h"

namespace tapeformer::kernels {

// Whether cached_attention() takes such queries.
bool cached_attention_takes(const AttentionShape& shape);

// o (B, h, 1, d_v) = attention_forward() without dropout. Keys and values are T, or bf16 where T is float: then queries
// and weights are rounded to bf16 as well, as MatmulPrecision::medium rounds them. Sums are kept in T. The number of
// keys of a part is fixed: the same bits for any number of threads.
template <class T, class Stored>
void cached_attention(T* o, AttentionStrides o_strides, const T* q, AttentionStrides q_strides, const Stored* k,
                      AttentionStrides k_strides, const Stored* v, AttentionStrides v_strides,
                      const AttentionShape& shape);

}  // namespace tapeformer::kernels
