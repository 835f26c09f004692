// Tensors as BLAS reads them.
#pragma once

#include "autograd/kernels/gemm/gemm.h"
#include "autograd/tensor/tensor.h"

namespace tapeformer {

// x, or a copy of it, such that its last two axes are a matrix that BLAS can read: one of their strides is 1 and the
// other at least the length of a row (or column).
Tensor readable_by_blas(const Tensor& x);

// The last two axes of such a tensor, read transposed if asked for.
template <class T>
kernels::MatrixView<T> matrix_view(const Tensor& x, bool transpose = false);

// out (m, n), dense = beta·out + a·b for such matrices, read transposed if asked for. b may be weights of bf16.
template <class T>
void multiply(T* out, T beta, const Tensor& a, bool a_transposed, const Tensor& b, bool b_transposed) {
  const std::int64_t m = a.size(a_transposed ? 1 : 0), k = a.size(a_transposed ? 0 : 1);
  const std::int64_t n = b.size(b_transposed ? 0 : 1);
  const kernels::MatrixView<T> left = matrix_view<T>(a, a_transposed);
  if constexpr (std::is_same_v<T, float>) {
    if (b.dtype() == DType::bf16) {
      return kernels::gemm(out, n, left, matrix_view<kernels::Bf16>(b, b_transposed), m, n, k, T{1}, beta);
    }
  }
  kernels::gemm(out, n, left, matrix_view<T>(b, b_transposed), m, n, k, T{1}, beta);
}

}  // namespace tapeformer
