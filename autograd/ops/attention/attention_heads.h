// How the functions of attention check heads and give them to their kernels. It is private to this folder.
#pragma once

#include <cmath>

#include "autograd/kernels/attention/attention.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/helpers/op_helpers.h"

namespace tapeformer {

// Whether the kernels can read and write x (B, h, T, d): the d elements of each head must be contiguous, and two rows
// must not overlap.
inline bool has_dense_heads(const Tensor& x) {
  const Dims &sizes = x.sizes(), &strides = x.layout().strides;
  return (sizes[3] <= 1 || strides[3] == 1) && (sizes[2] <= 1 || strides[2] >= sizes[3]);
}
inline Tensor with_dense_heads(const Tensor& x) { return has_dense_heads(x) ? x : x.clone(); }

inline kernels::AttentionStrides strides_of(const Tensor& x) {
  const Dims& strides = x.layout().strides;
  return {strides[0], strides[2], strides[1]};
}

// Returns the options with contiguous tensors. Throws Error naming `op` unless q (B, h, T_q, d_k), k (B, g, T_k, d_k),
// v (B, g, T_k, d_v) and the options fit together (attention.cpp).
AttentionOptions checked_attention(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                                   const AttentionOptions& options);

// The shape of the attention of such tensors with such options, but for `causal` and the dropout.
inline kernels::AttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v,
                                        const AttentionOptions& options) {
  const double scale = options.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.size(3))) : options.scale;
  kernels::AttentionShape shape{q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), v.size(3), scale};
  shape.key_lengths = data_or_null<std::int32_t>(options.key_lengths);
  shape.key_begin = data_or_null<std::int32_t>(options.key_begin);
  shape.group = q.size(1) / k.size(1);
  return shape;
}

// An uninitialised tensor (B, h, T, d) whose memory layout is (B, T, h, d).
inline Tensor empty_by_rows(std::int64_t batches, std::int64_t heads, std::int64_t rows, std::int64_t dim,
                            DType dtype) {
  return Tensor::empty({batches, rows, heads, dim}, dtype).transpose(1, 2);
}

}  // namespace tapeformer
