// How the ops of attention give heads to their kernels. It is private to this folder.
#pragma once

#include "autograd/kernels/attention/attention.h"
#include "autograd/tensor/tensor.h"

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

// An uninitialised tensor (B, h, T, d) whose memory layout is (B, T, h, d).
inline Tensor empty_by_rows(std::int64_t batches, std::int64_t heads, std::int64_t rows, std::int64_t dim,
                            DType dtype) {
  return Tensor::empty({batches, rows, heads, dim}, dtype).transpose(1, 2);
}

}  // namespace tapeformer
