#include "autograd/kernels/gemm/gemm.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "autograd/kernels/gemm/precision.h"
#include "core/error.h"
#include "core/parallel.h"
#include "tests/kernels/gemm_test.h"

using namespace tapeformer;
using kernels::MatrixView;

namespace {

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

TEST_CASE("gemm: a single row may have any leading dimension, but rows must not overlap") {
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

TEST_CASE("gemm: the BLAS describes itself and uses OpenMP threads") {
  CHECK(kernels::blas_description().find("OpenBLAS") != std::string::npos);
  CHECK(kernels::blas_uses_openmp());
}

TEST_CASE_TEMPLATE("gemm: every part of the product is computed, for any number of threads", T, float, double) {
  const int before = thread_count();
  for (int threads : {1, 2, 3, 6, 7}) {
    set_thread_count(threads);
    check_gemm<T>(200, 190, 70, false, true, T{1}, T{0}, 1);
    check_gemm<T>(17, 600, 90, true, false, T{1}, T{0.5}, 0);
    check_gemm<T>(700, 3, 300, false, false, T{1}, T{0}, 2);
  }
  set_thread_count(before);
}

TEST_CASE("symmetric_gemm: half of the product is computed and mirrored") {
  const auto check = [](kernels::MatmulPrecision precision, std::int64_t n, std::int64_t k, bool transposed,
                        float beta) {
    const kernels::MatmulPrecisionScope scope(precision);
    const std::int64_t gap = 3, ldc = n + gap, ld = (transposed ? n : k) + gap;
    const auto values = random_values<float>((transposed ? k : n) * ld, 1), noise = random_values<float>(n * ldc, 2);
    const MatrixView<float> a{values.data(), ld, transposed}, b{values.data(), ld, !transposed};
    auto before = noise;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = i + 1; j < n; ++j) before[i * ldc + j] = before[j * ldc + i];
    }
    auto whole = before, half = before;
    kernels::gemm(whole.data(), ldc, a, b, n, n, k, 0.5F, beta);
    kernels::symmetric_gemm(half.data(), ldc, a, b, n, k, 0.5F, beta);
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < ldc; ++j) {
        const float got = half[i * ldc + j];
        if (j >= n || precision != kernels::MatmulPrecision::highest) {
          wrong += got != whole[i * ldc + j];  // each element adds up in the same order
          continue;
        }
        const auto [expected, magnitude] = product(a, b, before[i * ldc + j], i, j, k, 0.5F, beta);
        wrong += !(std::abs(got - expected) <= magnitude * (k + 2) * std::numeric_limits<float>::epsilon());
        wrong += got != half[j * ldc + i];
      }
    }
    CHECK_MESSAGE(wrong == 0, "n ", n, ", k ", k, ", transposed ", transposed, ", beta ", beta);
  };
  for (const auto precision : {kernels::MatmulPrecision::highest, kernels::MatmulPrecision::medium}) {
    for (const std::int64_t n : {0, 1, 13, 16, 33, 64, 65, 130, 300}) {
      for (const std::int64_t k : {1, 37, 600}) {
        check(precision, n, k, n % 2 == 0, 0);
        check(precision, n, k, n % 2 == 1, -2);
      }
    }
  }
}
