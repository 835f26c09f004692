// Matrix products by OpenBLAS; gemm.cpp is the only file that includes cblas.h.
#pragma once

#include <cstdint>
#include <string>

namespace tapeformer::kernels {

// A matrix as BLAS sees it: row-major with leading dimension `ld` (the distance of rows in elements), read transposed
// when `transposed` (then `data` holds the transpose, row-major with leading dimension ld).
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t ld;
  bool transposed = false;
};

// c (m, n), rows ldc apart = beta·c + alpha·a (m, k)·b (k, n). With beta 0, c is not read. k = 0 gives beta·c.
// Runs on all threads, each making a part of c, or on the calling one inside a parallel loop.
template <class T>
void gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n, std::int64_t k,
          T alpha, T beta);

// The same as one call of OpenBLAS with its own threads, for benchmarks to compare with.
template <class T>
void gemm_by_blas_threads(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                          std::int64_t k, T alpha, T beta);

// `count` independent products; product i uses a.data + a_offsets[i], b.data + b_offsets[i] and c + c_offsets[i].
// Spread over the threads one product a thread where there are enough of them. The c's must not overlap.
template <class T>
void gemm_batched(T* c, const std::int64_t* c_offsets, std::int64_t ldc, MatrixView<T> a, const std::int64_t* a_offsets,
                  MatrixView<T> b, const std::int64_t* b_offsets, std::int64_t count, std::int64_t m, std::int64_t n,
                  std::int64_t k, T alpha, T beta);

// What the BLAS says of itself: version, kernel family, threading model. For `info`, benchmarks and a warning where
// the threading is not OpenMP's, which alone lets each of our threads keep it from starting more.
std::string blas_description();
bool blas_uses_openmp();

}  // namespace tapeformer::kernels
