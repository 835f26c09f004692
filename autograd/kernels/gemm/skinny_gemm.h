// Matrix products by dot products of rows. They are the fastest where the left side has few rows, as when text is
// generated token by token: the time then goes into reading the right side once, at the speed of the memory, where a
// BLAS would first copy it into blocks. For gemm and attention.
#pragma once

#include "autograd/kernels/gemm/gemm.h"

namespace tapeformer::kernels {

// Whether skinny_gemm is the fastest choice for a product: rows of a times rows of b, and few of a.
template <class T>
bool skinny_gemm_takes(const MatrixView<T>& a, bool b_transposed, std::int64_t m) {
  return !a.transposed && b_transposed && m <= kFewRows;
}

// gemm for any number of rows, with a not transposed and b transposed; Error otherwise. Each element of c adds up in an
// order that depends on k alone: the same bits for any m and n and any number of threads, and inside a parallel loop.
// Zeros after the end of both rows do not change them.
template <class T>
void skinny_gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                 std::int64_t k, T alpha, T beta);

// The same with a right side of bf16, by bf16_unit(); a is rounded to bf16 as well.
void skinny_gemm(float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<Bf16> b, std::int64_t m, std::int64_t n,
                 std::int64_t k, float alpha, float beta);

}  // namespace tapeformer::kernels
