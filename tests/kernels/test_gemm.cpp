#include "autograd/kernels/gemm.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "autograd/core/error.h"
#include "autograd/core/parallel.h"
#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using kernels::MatrixView;

namespace {

template <class T>
T at(const MatrixView<T>& matrix, std::int64_t i, std::int64_t j) {
  return matrix.transposed ? matrix.data[j * matrix.ld + i] : matrix.data[i * matrix.ld + j];
}

// Element (i, j) of beta·c + alpha·a·b, in double, with its rounding bound: the sum of magnitudes.
template <class T>
std::pair<double, double> product(const MatrixView<T>& a, const MatrixView<T>& b, T c, std::int64_t i, std::int64_t j,
                                  std::int64_t k, T alpha, T beta) {
  double sum = beta == 0 ? 0 : static_cast<double>(beta) * c, magnitude = std::abs(sum);
  for (std::int64_t l = 0; l < k; ++l) {
    const double term = static_cast<double>(alpha) * at(a, i, l) * at(b, l, j);
    sum += term;
    magnitude += std::abs(term);
  }
  return {sum, magnitude};
}

template <class T>
void check_gemm(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed, T alpha, T beta,
                std::int64_t gap) {
  const std::int64_t a_cols = a_transposed ? m : k, b_cols = b_transposed ? k : n, ldc = n + gap;
  const auto a_values = random_values<T>((a_transposed ? k : m) * (a_cols + gap), 1);
  const auto b_values = random_values<T>((b_transposed ? n : k) * (b_cols + gap), 2);
  const MatrixView<T> a{a_values.data(), a_cols + gap, a_transposed}, b{b_values.data(), b_cols + gap, b_transposed};
  const auto before = random_values<T>(m * ldc, 3);
  auto c = before;
  if (beta == 0) {
    for (std::int64_t i = 0; i < m * ldc; ++i) {
      if (i % ldc < n) c[i] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  kernels::gemm(c.data(), ldc, a, b, m, n, k, alpha, beta);
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < ldc; ++j) {
      const T got = c[i * ldc + j], old = before[i * ldc + j];
      if (j >= n) {
        wrong += got != old;
        continue;
      }
      const auto [expected, magnitude] = product(a, b, old, i, j, k, alpha, beta);
      wrong += !(std::abs(got - expected) <= magnitude * (k + 2) * std::numeric_limits<T>::epsilon());
    }
  }
  CHECK_MESSAGE(wrong == 0, "m ", m, ", n ", n, ", k ", k, ", transposed ", a_transposed, b_transposed, ", beta ",
                beta);
}

template <class T>
void check_shapes() {
  const std::int64_t shapes[][3] = {{1, 1, 1},     {3, 5, 7},      {1, 33, 17},   {33, 1, 17},  {64, 64, 64},
                                    {65, 31, 130}, {200, 100, 50}, {5, 1000, 60}, {1000, 5, 60}};
  for (const auto& [m, n, k] : shapes) {
    for (int bits = 0; bits < 4; ++bits) {
      check_gemm<T>(m, n, k, bits & 1, bits & 2, T{1}, T{0}, 0);
      check_gemm<T>(m, n, k, bits & 1, bits & 2, T{-0.5}, T{1}, 3);
      check_gemm<T>(m, n, k, bits & 1, bits & 2, T{2}, T{0.25}, 1);
      check_gemm<T>(m, n, k, bits & 1, bits & 2, T{2}, T{0}, 2);
    }
  }
}

template <class T>
void check_batched(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k) {
  // The heads of a packed (rows, count, columns) layout: products interleaved by columns.
  const auto a_values = random_values<T>(m * count * k, 1), b_values = random_values<T>(n * count * k, 2);
  const MatrixView<T> a{a_values.data(), count * k}, b{b_values.data(), count * k, true};
  std::vector<std::int64_t> offsets, c_offsets;
  for (std::int64_t i = 0; i < count; ++i) offsets.push_back(i * k), c_offsets.push_back(i * m * n);
  std::vector<T> c(count * m * n, std::numeric_limits<T>::quiet_NaN());
  kernels::gemm_batched(c.data(), c_offsets.data(), n, a, offsets.data(), b, offsets.data(), count, m, n, k, T{1},
                        T{0});
  int wrong = 0;
  for (std::int64_t p = 0; p < count; ++p) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const MatrixView<T> ap{a.data + offsets[p], a.ld}, bp{b.data + offsets[p], b.ld, true};
        const auto [expected, magnitude] = product(ap, bp, T{0}, i, j, k, T{1}, T{0});
        const T got = c[c_offsets[p] + i * n + j];
        wrong += !(std::abs(got - expected) <= magnitude * (k + 2) * std::numeric_limits<T>::epsilon());
      }
    }
  }
  CHECK_MESSAGE(wrong == 0, "count ", count, ", m ", m, ", n ", n, ", k ", k);
}

}  // namespace

TEST_CASE("gemm: every transposition, leading dimension and beta against plain sums") {
  check_shapes<float>();
  check_shapes<double>();
}

TEST_CASE("gemm: empty sizes; beta 0 does not read c") {
  for (bool transposed : {false, true}) {
    check_gemm<float>(4, 3, 0, transposed, transposed, 1, 0, 1);
    check_gemm<double>(4, 3, 0, transposed, transposed, 1, 2, 0);
    check_gemm<float>(0, 3, 2, transposed, transposed, 1, 1, 0);
    check_gemm<float>(3, 0, 2, transposed, transposed, 1, 1, 2);
    check_gemm<double>(4, 3, 5, transposed, transposed, 0, 0, 1);
  }
}

TEST_CASE("gemm: a single row may have any leading dimension, several may not overlap") {
  const float a[] = {1, 2}, b[] = {3, 4};
  float c[] = {0, 0};
  kernels::gemm<float>(c, 0, {a, 0}, {b, 0, true}, 1, 1, 2, 1, 0);
  CHECK(c[0] == 11);
  CHECK_THROWS_WITH_AS(kernels::gemm<float>(c, 1, {a, 1}, {b, 1}, 2, 1, 2, 1, 0),
                       "gemm: a has rows of 2 elements that are only 1 apart", Error);
}

TEST_CASE("gemm_batched: many products at strided places, more and fewer than threads") {
  const int before = thread_count();
  for (int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (std::int64_t count : {0, 1, 2, 7, 48}) {
      check_batched<float>(count, 17, 9, 24);
      check_batched<double>(count, 5, 40, 3);
    }
    check_batched<float>(6, 64, 64, 64);
  }
  set_thread_count(before);
}

TEST_CASE("gemm: the BLAS names itself, and its threads are OpenMP's") {
  CHECK(kernels::blas_description().find("OpenBLAS") != std::string::npos);
  CHECK(kernels::blas_uses_openmp());
}

TEST_CASE_TEMPLATE("gemm: any number of threads shares the product without a gap", T, float, double) {
  const int before = thread_count();
  for (int threads : {1, 2, 3, 6, 7}) {
    set_thread_count(threads);
    check_gemm<T>(200, 190, 70, false, true, T{1}, T{0}, 1);
    check_gemm<T>(17, 600, 90, true, false, T{1}, T{0.5}, 0);
    check_gemm<T>(700, 3, 300, false, false, T{1}, T{0}, 2);
  }
  set_thread_count(before);
}
