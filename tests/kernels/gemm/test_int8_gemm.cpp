// Products of operands that are rounded to 8 bits.
#include "autograd/kernels/gemm/int8/int8_gemm.h"

#include "autograd/kernels/gemm/q8/q8.h"
#include "core/error.h"
#include "tests/kernels/gemm_test.h"

using namespace tapeformer;
using kernels::MatrixView;

namespace {

// Vectors of numbers of very different sizes, one of them all zeros; rows `ld` apart.
std::vector<float> vectors(std::int64_t count, std::int64_t ld, std::uint64_t stream) {
  std::vector<float> x = random_values<float>(count * ld, stream);
  for (std::int64_t i = 0; i < count * ld; ++i) {
    x[i] *= i / ld == 1 ? 0 : std::pow(10.0F, static_cast<float>(i / ld % 7) - 3);
  }
  return x;
}

// Whole numbers of 8 bits and their scale, by the definition in int8_gemm.h.
struct Rounded {
  std::vector<std::int64_t> whole;
  float scale = 0;

  template <class Element>
  Rounded(std::int64_t k, const Element& element) : whole(k) {
    float most = 0;
    for (std::int64_t p = 0; p < k; ++p) most = std::max(most, std::abs(element(p)));
    scale = most / 127;
    for (std::int64_t p = 0; p < k; ++p) {
      whole[p] = most > 0 ? static_cast<std::int64_t>(std::nearbyint(element(p) * (127 / most))) : 0;
    }
  }
};

std::vector<float> expected_product(const std::vector<float>& before, std::int64_t ldc, MatrixView<float> a,
                                    MatrixView<float> b, std::int64_t m, std::int64_t n, std::int64_t k, float beta) {
  std::vector<float> c = before;
  std::vector<Rounded> columns;
  for (std::int64_t j = 0; j < n; ++j) columns.emplace_back(k, [&](std::int64_t p) { return at(b, p, j); });
  for (std::int64_t i = 0; i < m; ++i) {
    const Rounded row(k, [&](std::int64_t p) { return at(a, i, p); });
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t p = 0; p < k; ++p) sum += row.whole[p] * columns[j].whole[p];
      const float product = static_cast<float>(sum) * (row.scale * columns[j].scale);
      c[i * ldc + j] = beta == 0 ? product : std::fma(before[i * ldc + j], beta, product);
    }
  }
  return c;
}

// Calls f() with AVX512_VNNI, if the CPU has it, and without.
template <class F>
void for_each_int8_unit(const F& f) {
  f();
  kernels::force_portable_int8(true);
  f();
  kernels::force_portable_int8(false);
}

}  // namespace

TEST_CASE("int8_gemm: the exact sums of numbers rounded to 8 bits, with the same bits on every unit") {
  constexpr std::int64_t kShapes[][3] = {{1, 1, 1},    {14, 32, 64},   {15, 33, 65}, {31, 7, 3},
                                         {9, 70, 130}, {130, 300, 36}, {40, 16, 515}};
  for (const auto& shape : kShapes) {
    const std::int64_t m = shape[0], n = shape[1], k = shape[2];
    for (const bool transposed : {true, false}) {
      for (const float beta : {0.0F, 1.0F, -0.5F}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        CAPTURE(transposed);
        CAPTURE(beta);
        const std::int64_t lda = k + 3, ldb = (transposed ? k : n) + 2, ldc = n + 1;
        const std::vector<float> a = vectors(m, lda, 1), b = vectors(transposed ? n : k, ldb, 2);
        std::vector<float> before = random_values<float>(m * ldc, 3);
        const MatrixView<float> left{a.data(), lda}, right{b.data(), ldb, transposed};
        const std::vector<float> expected = expected_product(before, ldc, left, right, m, n, k, beta);
        if (beta == 0) {  // c is not read
          for (std::int64_t i = 0; i < m * ldc; ++i) before[i] = i % ldc < n ? NAN : before[i];
        }
        for_each_int8_unit([&] {
          std::vector<float> c = before;
          kernels::int8_gemm(c.data(), ldc, a.data(), lda, right, m, n, k, beta);
          CHECK(c == expected);
        });
      }
    }
  }
}

TEST_CASE("int8_gemm: any number of threads and rows, and columns that are packed in turns, give the same bits") {
  constexpr std::int64_t m = 70, n = 2100, k = 2052;  // more than is packed at a time
  const std::vector<float> a = vectors(m, k, 4), b = vectors(n, k, 5);
  const auto rows = [&](std::int64_t first, std::int64_t count) {
    std::vector<float> c(count * n);
    kernels::int8_gemm(c.data(), n, a.data() + first * k, k, {b.data(), k, true}, count, n, k, 0);
    return c;
  };
  const int threads = thread_count();
  const std::vector<float> all = rows(0, m);
  for (const int other : {1, 3}) {
    set_thread_count(other);
    CHECK(rows(0, m) == all);
  }
  set_thread_count(threads);
  CHECK(rows(20, 11) == std::vector<float>(all.begin() + 20 * n, all.begin() + 31 * n));
  std::vector<float> few(m * 4);
  kernels::int8_gemm(few.data(), 4, a.data(), k, {b.data() + 2000 * k, k, true}, m, 4, k, 0);
  int wrong = 0;
  for (std::int64_t i = 0; i < m * 4; ++i) wrong += few[i] != all[i / 4 * n + 2000 + i % 4];
  CHECK(wrong == 0);
}

TEST_CASE("int8_gemm: numbers that are not finite, or too small for a scale") {
  constexpr std::int64_t m = 9, n = 5, k = 40;
  for_each_int8_unit([&] {
    for (const float bad : {INFINITY, -INFINITY, NAN}) {
      std::vector<float> a = vectors(m, k, 6), b = vectors(n, k, 7), c(m * n);
      a[2 * k + 3] = bad;
      b[4 * k + 1] = bad;
      kernels::int8_gemm(c.data(), n, a.data(), k, {b.data(), k, true}, m, n, k, 0);
      for (std::int64_t i = 0; i < m * n; ++i) {
        CHECK(std::isfinite(c[i]) == (i / n != 2 && i % n != 4));
      }
    }
    const std::vector<float> tiny(m * k, 1e-38F), ones(n * k, 1);
    std::vector<float> c(m * n, 5);
    kernels::int8_gemm(c.data(), n, tiny.data(), k, {ones.data(), k, true}, m, n, k, 0);
    CHECK(c == std::vector<float>(m * n, 0));
  });
  std::vector<float> c(1), a(kernels::kInt8LongestSum + 1, 1);
  const std::int64_t k_of_a = std::ssize(a);
  CHECK_THROWS_WITH_AS(kernels::int8_gemm(c.data(), 1, a.data(), k_of_a, {a.data(), k_of_a, true}, 1, 1, k_of_a, 0),
                       "int8_gemm: k is 65537, expected at most 65536", Error);
  // The largest sum.
  kernels::int8_gemm(c.data(), 1, a.data(), k_of_a, {a.data(), k_of_a, true}, 1, 1, kernels::kInt8LongestSum, 0);
  CHECK(c[0] == doctest::Approx(65536).epsilon(1e-6));
}
