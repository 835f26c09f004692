#include "autograd/kernels/gemm.h"

#include <cblas.h>

#include <cstdlib>

#include <algorithm>
#include <limits>

#include "autograd/core/error.h"
#include "autograd/core/parallel.h"

namespace tapeformer::kernels {
namespace {

// OpenBLAS 0.3.21 picks its kernels by a list of CPU models, and falls back to SSE on models that are newer than the
// list, five times slower. What matters is the instruction set, so we name the kernels by that, unless the user named
// some. Runs before OpenBLAS's own constructor, which has no priority.
__attribute__((constructor(101))) void choose_blas_kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    setenv("OPENBLAS_CORETYPE", "Haswell", 0);
  }
#endif
}

void call_blas(float* c, int ldc, const float* a, int lda, CBLAS_TRANSPOSE trans_a, const float* b, int ldb,
               CBLAS_TRANSPOSE trans_b, int m, int n, int k, float alpha, float beta) {
  cblas_sgemm(CblasRowMajor, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void call_blas(double* c, int ldc, const double* a, int lda, CBLAS_TRANSPOSE trans_a, const double* b, int ldb,
               CBLAS_TRANSPOSE trans_b, int m, int n, int k, double alpha, double beta) {
  cblas_dgemm(CblasRowMajor, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

int blas_size(const char* what, std::int64_t size) {
  check(size >= 0 && size <= std::numeric_limits<int>::max(), "gemm: ", what, " is ", size,
        ", BLAS takes 0 to 2^31 - 1");
  return static_cast<int>(size);
}

// The leading dimension of a row-major (rows, cols) matrix as BLAS wants it: no less than cols, even where there is no
// second row for it to lead to. Checked here because BLAS itself would print and carry on.
int leading_dimension(const char* what, std::int64_t ld, std::int64_t rows, std::int64_t cols) {
  if (rows <= 1) ld = cols;
  check(ld >= cols, "gemm: ", what, " has rows of ", cols, " elements that are only ", ld, " apart");
  return std::max(1, blas_size(what, ld));
}

}  // namespace

template <class T>
void gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n, std::int64_t k,
          T alpha, T beta) {
  if (m == 0 || n == 0) return;
  const int lda = a.transposed ? leading_dimension("a", a.ld, k, m) : leading_dimension("a", a.ld, m, k);
  const int ldb = b.transposed ? leading_dimension("b", b.ld, n, k) : leading_dimension("b", b.ld, k, n);
  call_blas(c, leading_dimension("c", ldc, m, n), a.data, lda, a.transposed ? CblasTrans : CblasNoTrans, b.data, ldb,
            b.transposed ? CblasTrans : CblasNoTrans, blas_size("m", m), blas_size("n", n), blas_size("k", k), alpha,
            beta);
}

template <class T>
void gemm_batched(T* c, const std::int64_t* c_offsets, std::int64_t ldc, MatrixView<T> a, const std::int64_t* a_offsets,
                  MatrixView<T> b, const std::int64_t* b_offsets, std::int64_t count, std::int64_t m, std::int64_t n,
                  std::int64_t k, T alpha, T beta) {
  const auto products = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      gemm(c + c_offsets[i], ldc, {a.data + a_offsets[i], a.ld, a.transposed},
           {b.data + b_offsets[i], b.ld, b.transposed}, m, n, k, alpha, beta);
    }
  };
  if (count < thread_count()) return products(0, count);
  constexpr std::int64_t kWorthAChunk = 1 << 16;  // multiplications
  parallel_for(0, count, std::max<std::int64_t>(1, kWorthAChunk / std::max<std::int64_t>(1, m * n * k)), products);
}

std::string blas_description() {
  const char* const threading[] = {"no threads", "pthreads", "OpenMP"};
  return concat(openblas_get_config(), ", kernels for ", openblas_get_corename(), ", ",
                threading[openblas_get_parallel()]);
}

bool blas_uses_openmp() { return openblas_get_parallel() == OPENBLAS_OPENMP; }

template void gemm(float*, std::int64_t, MatrixView<float>, MatrixView<float>, std::int64_t, std::int64_t, std::int64_t,
                   float, float);
template void gemm(double*, std::int64_t, MatrixView<double>, MatrixView<double>, std::int64_t, std::int64_t,
                   std::int64_t, double, double);
template void gemm_batched(float*, const std::int64_t*, std::int64_t, MatrixView<float>, const std::int64_t*,
                           MatrixView<float>, const std::int64_t*, std::int64_t, std::int64_t, std::int64_t,
                           std::int64_t, float, float);
template void gemm_batched(double*, const std::int64_t*, std::int64_t, MatrixView<double>, const std::int64_t*,
                           MatrixView<double>, const std::int64_t*, std::int64_t, std::int64_t, std::int64_t,
                           std::int64_t, double, double);

}  // namespace tapeformer::kernels
