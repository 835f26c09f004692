// Matrix products, by OpenBLAS or our own kernels, in the precision that MatmulPrecisionScope (precision.h) asks for.
// gemm.cpp is the only file that includes cblas.h.
#pragma once

#include <cstdint>
#include <string>

#include "autograd/kernels/gemm/bf16/bf16.h"

namespace tapeformer::kernels {

// A matrix as BLAS sees it: row-major with leading dimension `ld` (the distance of rows in elements), read transposed
// when `transposed` (then `data` holds the transpose, row-major with leading dimension ld).
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t ld;
  bool transposed = false;
};

// The left side of a product has few rows where packing the right side would take longer than the product.
inline constexpr std::int64_t kFewRows = 8;

// c (m, n), rows ldc apart = beta·c + alpha·a (m, k)·b (k, n). With beta 0, c is not read. k = 0 gives beta·c.
// All threads run it, each computing a part of c; inside a parallel loop the calling thread alone does. Under
// BatchInvariant (batch_invariant.h) a row's bits do not depend on m.
template <class T>
void gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n, std::int64_t k,
          T alpha, T beta);

// gemm with m = n for a result that is symmetric, as a·aᵀ is, and a c that is symmetric unless beta is 0. It computes
// about half of c, and copies that half to the other one.
template <class T>
void symmetric_gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t n, std::int64_t k, T alpha,
                    T beta);

// gemm with a right side of bf16; a is rounded to bf16 as well, whatever the precision in force.
void gemm(float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<Bf16> b, std::int64_t m, std::int64_t n,
          std::int64_t k, float alpha, float beta);

// The same product by one call of OpenBLAS with its own threads, for comparison in benchmarks.
template <class T>
void gemm_by_blas_threads(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                          std::int64_t k, T alpha, T beta);

// `count` independent products; product i uses a.data + a_offsets[i], b.data + b_offsets[i] and c + c_offsets[i].
// With enough products, each thread computes whole ones. The c's must not overlap.
template <class T>
void gemm_batched(T* c, const std::int64_t* c_offsets, std::int64_t ldc, MatrixView<T> a, const std::int64_t* a_offsets,
                  MatrixView<T> b, const std::int64_t* b_offsets, std::int64_t count, std::int64_t m, std::int64_t n,
                  std::int64_t k, T alpha, T beta);

// OpenBLAS's description of itself: version, kernel family, threading model. Its threading must be OpenMP's: only then
// can each of our threads keep it from starting more threads.
std::string blas_description();
bool blas_uses_openmp();

}  // namespace tapeformer::kernels
