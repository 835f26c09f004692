// Views of tensors as matrices that BLAS can read.
#pragma once

#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/int8/int8_gemm.h"
#include "autograd/kernels/gemm/precision.h"
#include "autograd/tensor/tensor.h"

namespace tapeformer {

// Returns x if BLAS can read its last two axes as a matrix, else a copy. BLAS needs one stride of 1 and another one
// that is at least the length of a row (or column).
Tensor readable_by_blas(const Tensor& x);

// Returns the last two axes of such a tensor as a matrix, transposed if `transpose`.
template <class T>
kernels::MatrixView<T> matrix_view(const Tensor& x, bool transpose = false);

// out = beta·out + a·b. out (m, n) is dense; a and b come from readable_by_blas() and are read transposed if asked for.
// b may be bf16 where T is float, or q8_0 if it is read transposed and beta is 0.
template <class T>
void multiply(T* out, T beta, const Tensor& a, bool a_transposed, const Tensor& b, bool b_transposed) {
  const std::int64_t m = a.size(a_transposed ? 1 : 0), k = a.size(a_transposed ? 0 : 1);
  const std::int64_t n = b.size(b_transposed ? 0 : 1);
  const kernels::MatrixView<T> left = matrix_view<T>(a, a_transposed);
  if constexpr (std::is_same_v<T, float>) {
    if (b.dtype() == DType::bf16) {
      return kernels::gemm(out, n, left, matrix_view<kernels::Bf16>(b, b_transposed), m, n, k, T{1}, beta);
    }
    if (b.dtype() == DType::q8_0) {
      check(!a_transposed && b_transposed && beta == 0, "a product with q8_0: expected x Wᵀ");
      const Tensor rows = left.transposed ? a.contiguous() : a;  // x may be a transposed view
      const kernels::MatrixView<float> x = matrix_view<float>(rows);
      return kernels::q8_gemm(out, n, x.data, x.ld, b.q8_rows(), m, n, k);
    }
  }
  kernels::gemm(out, n, left, matrix_view<T>(b, b_transposed), m, n, k, T{1}, beta);
}

// The same for rows x of a layer and its weight: x Wᵀ if `transposed`, else x W. MatmulPrecision::low rounds both to 8
// bits, unless x has few rows (then most of the time would go into the weight) or its rows must not depend on each
// other.
template <class T>
void multiply_by_weight(T* out, T beta, const Tensor& x, const Tensor& weight, bool transposed) {
  if constexpr (std::is_same_v<T, float>) {
    const std::int64_t rows = x.size(0), k = x.size(1);
    if (kernels::MatmulPrecisionScope::current() == kernels::MatmulPrecision::low && weight.dtype() == DType::f32 &&
        rows > kernels::kFewRows && k <= kernels::kInt8LongestSum && !kernels::BatchInvariant::is_on()) {
      const Tensor dense = matrix_view<float>(x).transposed ? x.contiguous() : x;  // x may be a transposed view
      const kernels::MatrixView<float> left = matrix_view<float>(dense), right = matrix_view<float>(weight, transposed);
      const std::int64_t columns = weight.size(transposed ? 0 : 1);
      return kernels::int8_gemm(out, columns, left.data, left.ld, right, rows, columns, k, beta);
    }
  }
  multiply(out, beta, x, false, weight, transposed);
}

}  // namespace tapeformer
