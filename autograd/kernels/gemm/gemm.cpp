#include "autograd/kernels/gemm/gemm.h"

#include <cblas.h>

#include <cstdlib>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "autograd/kernels/gemm/band_gemm.h"
#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/kernels/gemm/bf16/bf16_gemm.h"
#include "autograd/kernels/gemm/blas_buffers.h"
#include "autograd/kernels/gemm/precision.h"
#include "autograd/kernels/gemm/skinny_gemm.h"
#include "autograd/kernels/scratch.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/profile.h"

// OpenMP's, which OpenBLAS's threads belong to. clang does not see the omp.h of g++.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int threads);

namespace tapeformer::kernels {
namespace {

// OpenBLAS 0.3.21 chooses its kernels by a list of CPU models. On models that are newer than the list it uses SSE, five
// times slower. So we choose kernels by the instruction set, unless the user has chosen some. This runs before
// OpenBLAS's own constructor, which has no priority.
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

// Sets the number of threads that OpenBLAS uses for the calls of this thread, for the length of a scope.
class BlasThreads {
 public:
  explicit BlasThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~BlasThreads() { omp_set_num_threads(before_); }
  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  int before_;
};

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

// The leading dimension of a row-major (rows, cols) matrix as BLAS expects it: at least cols, even if there is only one
// row. It is checked here because BLAS itself would print a message and go on.
int leading_dimension(const char* what, std::int64_t ld, std::int64_t rows, std::int64_t cols) {
  if (rows <= 1) ld = cols;
  check(ld >= cols, "gemm: ", what, " has rows of ", cols, " elements that are only ", ld, " apart");
  return std::max(1, blas_size(what, ld));
}

// How c is shared among the threads: each computes one part alone.
struct Grid {
  std::int64_t rows, columns;
};

// OpenBLAS's own threads share the packed operands of a product and often wait for each other: at the sizes of small
// models its second thread adds 10 to 50 % of speed, independent parts of c add 80 to 95 %. Each thread then packs its
// own operands, so we choose the grid whose parts have the smallest perimeter.
Grid thread_grid(std::int64_t m, std::int64_t n, double flops) {
  constexpr double kWorthAThread = 2.5e5;  // a few microseconds
  const int threads = static_cast<int>(std::clamp(flops / kWorthAThread, 1.0, 1.0 * available_threads()));
  Grid best{threads, 1};
  for (std::int64_t rows = 1; rows < threads; ++rows) {
    if (threads % rows != 0) continue;
    const std::int64_t columns = threads / rows;
    if (m / rows + n / columns < m / best.rows + n / best.columns) best = {rows, columns};
  }
  return best;
}

// Where part i of `parts` of a side of c begins, and its length. Parts are whole tiles of BLAS's kernels.
std::pair<std::int64_t, std::int64_t> grid_part(std::int64_t size, std::int64_t i, std::int64_t parts) {
  constexpr std::int64_t kTile = 16;
  const std::int64_t tiles = (size + kTile - 1) / kTile;
  const std::int64_t begin = std::min(size, tiles * i / parts * kTile),
                     end = std::min(size, tiles * (i + 1) / parts * kTile);
  return {begin, end - begin};
}

// What the profile calls a product, e.g. "gemm 256x2304x768 NT": m, n, k, and which operands are read transposed.
std::string product_name(bool a_transposed, bool b_transposed, std::int64_t m, std::int64_t n, std::int64_t k) {
  return str_cat("gemm ", m, "x", n, "x", k, a_transposed ? " T" : " N", b_transposed ? "T" : "N");
}

// A product with arguments that are checked and ready for BLAS.
template <class T>
struct Product {
  T* c;
  MatrixView<T> a, b;
  std::int64_t ldc, lda, ldb, k;
  T alpha, beta;

  Product(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n, std::int64_t k,
          T alpha, T beta)
      : c(c),
        a(a),
        b(b),
        ldc(leading_dimension("c", ldc, m, n)),
        lda(a.transposed ? leading_dimension("a", a.ld, k, m) : leading_dimension("a", a.ld, m, k)),
        ldb(b.transposed ? leading_dimension("b", b.ld, n, k) : leading_dimension("b", b.ld, k, n)),
        k(k),
        alpha(alpha),
        beta(beta) {}

  // Computes the part of c that begins at (row, column), with this many of OpenBLAS's threads.
  void run(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, int threads = 1) const {
    const BlasThreads blas_threads(threads);
    call_blas(c + row * ldc + column, ldc, a.data + (a.transposed ? row : row * lda), lda,
              a.transposed ? CblasTrans : CblasNoTrans, b.data + (b.transposed ? column * ldb : column), ldb,
              b.transposed ? CblasTrans : CblasNoTrans, blas_size("m", rows), blas_size("n", columns),
              blas_size("k", k), alpha, beta);
  }
};

// Computes a product, or what lies on or below its diagonal, in bf16 where the precision in force asks for that;
// returns whether it did.
template <class T>
bool run_in_bf16(const Product<T>& x, std::int64_t m, std::int64_t n, bool lower) {
  if constexpr (std::is_same_v<T, float>) {
    const MatmulPrecision precision = MatmulPrecisionScope::current();
    if (precision == MatmulPrecision::highest) return false;
    bf16_gemm(bf16_unit(), precision == MatmulPrecision::high, x.c, x.ldc, {x.a.data, x.lda, x.a.transposed},
              {x.b.data, x.ldb, x.b.transposed}, m, n, x.k, x.alpha, x.beta, lower);
    return true;
  }
  return false;
}

// Copies what lies below the diagonal of c (n, n) to the other side of it.
template <class T>
void mirror(T* c, std::int64_t ldc, std::int64_t n) {
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t rows = std::min(kBlock, n - first);
    transpose(c + first, ldc, c + first * ldc, ldc, rows, first);
    for (std::int64_t i = first; i < first + rows; ++i) {
      for (std::int64_t j = first; j < i; ++j) c[j * ldc + i] = c[i * ldc + j];
    }
  }
}

// gemm by skinny_gemm, whatever the operands and the number of rows: see batch_invariant.h.
template <class T>
void batch_invariant_gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                          std::int64_t k, T alpha, T beta) {
  const Scratch<T> a_rows(a.transposed ? m * k : 0), b_columns(b.transposed ? 0 : n * k);
  if (a.transposed) {
    transpose(a_rows.data(), k, a.data, a.ld, k, m);
    a = {a_rows.data(), k};
  }
  if (!b.transposed) {
    transpose(b_columns.data(), k, b.data, b.ld, k, n);
    b = {b_columns.data(), k, true};
  }
  skinny_gemm(c, ldc, a, b, m, n, k, alpha, beta);
}

}  // namespace

template <class T>
void gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n, std::int64_t k,
          T alpha, T beta) {
  if (m == 0 || n == 0) return;
  const std::string name = is_profiling() ? product_name(a.transposed, b.transposed, m, n, k) : std::string();
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const Span span(SpanKind::kernel, name.c_str(), {.flops = flops});
  const Product<T> product(c, ldc, a, b, m, n, k, alpha, beta);
  if (run_in_bf16(product, m, n, false)) return;
  if (BatchInvariant::is_on()) return batch_invariant_gemm(c, ldc, a, b, m, n, k, alpha, beta);
  if (skinny_gemm_takes(a, b.transposed, m)) return skinny_gemm(c, ldc, a, b, m, n, k, alpha, beta);
  reserve_blas_buffers(thread_count());
  const Grid grid = thread_grid(m, n, flops);
  if (grid.rows * grid.columns == 1) return product.run(0, m, 0, n);
  parallel_for(0, grid.rows * grid.columns, 1, [&](std::int64_t i, std::int64_t) {
    const auto [row, rows] = grid_part(m, i % grid.rows, grid.rows);
    const auto [column, columns] = grid_part(n, i / grid.rows, grid.columns);
    if (rows > 0 && columns > 0) product.run(row, rows, column, columns);
  });
}

template <class T>
void symmetric_gemm(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t n, std::int64_t k, T alpha,
                    T beta) {
  if (n == 0) return;
  constexpr std::int64_t kLeastRows = 64, kStrips = 4;
  const std::string name =
      is_profiling() ? product_name(a.transposed, b.transposed, n, n, k) + " symmetric" : std::string();
  const double flops = static_cast<double>(n) * static_cast<double>(n + 1) * static_cast<double>(k);
  const Span span(SpanKind::kernel, name.c_str(), {.flops = flops});
  if (!run_in_bf16(Product<T>(c, ldc, a, b, n, n, k, alpha, beta), n, n, true)) {
    // Strips of rows, from the left to the diagonal.
    const std::int64_t rows = std::max(kLeastRows, (n + kStrips - 1) / kStrips);
    for (std::int64_t row = 0; row < n; row += rows) {
      const std::int64_t end = std::min(n, row + rows);
      const MatrixView<T> strip{a.data + (a.transposed ? row : row * a.ld), a.ld, a.transposed};
      gemm(c + row * ldc, ldc, strip, b, end - row, end, k, alpha, beta);
    }
  }
  mirror(c, ldc, n);
}

void gemm(float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<Bf16> b, std::int64_t m, std::int64_t n,
          std::int64_t k, float alpha, float beta) {
  if (m == 0 || n == 0) return;
  const std::string name = is_profiling() ? product_name(a.transposed, b.transposed, m, n, k) + " bf16" : std::string();
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const Span span(SpanKind::kernel, name.c_str(), {.flops = flops});
  if (skinny_gemm_takes(a, b.transposed, m) && !BatchInvariant::is_on()) {
    return skinny_gemm(c, ldc, a, b, m, n, k, alpha, beta);
  }
  bf16_gemm(bf16_unit(), c, ldc, a, b, m, n, k, alpha, beta);
}

template <class T>
void gemm_by_blas_threads(T* c, std::int64_t ldc, MatrixView<T> a, MatrixView<T> b, std::int64_t m, std::int64_t n,
                          std::int64_t k, T alpha, T beta) {
  if (m == 0 || n == 0) return;
  reserve_blas_buffers(thread_count());
  Product<T>(c, ldc, a, b, m, n, k, alpha, beta).run(0, m, 0, n, thread_count());
}

template <class T>
void gemm_batched(T* c, const std::int64_t* c_offsets, std::int64_t ldc, MatrixView<T> a, const std::int64_t* a_offsets,
                  MatrixView<T> b, const std::int64_t* b_offsets, std::int64_t count, std::int64_t m, std::int64_t n,
                  std::int64_t k, T alpha, T beta) {
  const auto products = [&, invariant = BatchInvariant::is_on(), precision = MatmulPrecisionScope::current()](
                            std::int64_t begin, std::int64_t end) {
    const BatchInvariant invariant_scope(invariant);
    const MatmulPrecisionScope precision_scope(precision);
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
  return str_cat(openblas_get_config(), ", kernels for ", openblas_get_corename(), ", ",
                 threading[openblas_get_parallel()]);
}

bool blas_uses_openmp() { return openblas_get_parallel() == OPENBLAS_OPENMP; }

template void gemm(float*, std::int64_t, MatrixView<float>, MatrixView<float>, std::int64_t, std::int64_t, std::int64_t,
                   float, float);
template void gemm(double*, std::int64_t, MatrixView<double>, MatrixView<double>, std::int64_t, std::int64_t,
                   std::int64_t, double, double);
template void symmetric_gemm(float*, std::int64_t, MatrixView<float>, MatrixView<float>, std::int64_t, std::int64_t,
                             float, float);
template void symmetric_gemm(double*, std::int64_t, MatrixView<double>, MatrixView<double>, std::int64_t, std::int64_t,
                             double, double);
template void gemm_by_blas_threads(float*, std::int64_t, MatrixView<float>, MatrixView<float>, std::int64_t,
                                   std::int64_t, std::int64_t, float, float);
template void gemm_by_blas_threads(double*, std::int64_t, MatrixView<double>, MatrixView<double>, std::int64_t,
                                   std::int64_t, std::int64_t, double, double);
template void gemm_batched(float*, const std::int64_t*, std::int64_t, MatrixView<float>, const std::int64_t*,
                           MatrixView<float>, const std::int64_t*, std::int64_t, std::int64_t, std::int64_t,
                           std::int64_t, float, float);
template void gemm_batched(double*, const std::int64_t*, std::int64_t, MatrixView<double>, const std::int64_t*,
                           MatrixView<double>, const std::int64_t*, std::int64_t, std::int64_t, std::int64_t,
                           std::int64_t, double, double);

}  // namespace tapeformer::kernels
