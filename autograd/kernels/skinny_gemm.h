// Matrix products whose left side has few rows, as when text is generated token by token: the time goes into reading
// the right side, once, at the memory's speed, where a BLAS would first copy it into blocks. Private to gemm.cpp.
#pragma once

#include "autograd/kernels/gemm.h"

namespace tapeformer::kernels {

// Whether skinny_gemm takes such a product: rows of a times rows of b, and few of a.
template <class T>
bool skinny_gemm_takes(const MatrixView<T>& a, const MatrixView<T>& b, std::int64_t m) {
  constexpr std::int64_t kMostRows = 8;
  return !a.transposed && b.transposed && m <= kMostRows;
}

// gemm for such a product; Error for any other. The same bits for any number of threads, and inside of a parallel loop.
template <class T>
void skinny_gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                 std::int64_t k, T alpha, T beta);

}  // namespace tapeformer::kernels
