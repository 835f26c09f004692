// Matrix products whose left side has few rows, as when text is generated token by token: the time goes into reading
// the right side, once, at the memory's speed, where a BLAS would first copy it into blocks. Private to gemm.cpp.
#pragma once

#include "autograd/kernels/gemm.h"

namespace tapeformer::kernels {

// Whether few_rows_gemm takes such a product, and is the faster way (measured against OpenBLAS).
template <class T>
bool few_rows_gemm_is_faster(const MatrixView<T>& a, std::int64_t m) {
  constexpr std::int64_t kMostRows = 8;
  return !a.transposed && m <= kMostRows;
}

// gemm for such a product. The same bits for any number of threads, and inside of a parallel loop.
template <class T>
void few_rows_gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                   std::int64_t k, T alpha, T beta);

}  // namespace tapeformer::kernels
