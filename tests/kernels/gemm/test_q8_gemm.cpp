// Matrices of q8_0, and their products.
#include "autograd/kernels/gemm/q8/q8.h"

#include "autograd/kernels/gemm/batch_invariant.h"
#include "core/error.h"
#include "tests/kernels/bf16_units.h"
#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using kernels::kQ8Block;

namespace {

struct Q8Matrix {
  std::vector<std::int8_t> values;
  std::vector<kernels::F16> scales;
  explicit Q8Matrix(const std::vector<float>& x) : values(x.size()), scales(x.size() / kQ8Block) {
    kernels::quantize_q8(rows(), x.data(), static_cast<std::int64_t>(x.size()));
  }
  kernels::Q8Rows rows() { return {values.data(), scales.data()}; }
  double at(std::int64_t i) const { return values[i] * static_cast<double>(kernels::widen_f16(scales[i / kQ8Block])); }
};

// Numbers whose blocks have different sizes, one of them all zeros.
std::vector<float> block_values(std::int64_t n, std::uint64_t stream) {
  std::vector<float> x = random_values<float>(n, stream);
  for (std::int64_t i = 0; i < n; ++i) x[i] *= i / kQ8Block == 1 ? 0 : static_cast<float>(1 + i / kQ8Block % 5);
  return x;
}

// Element i of a row of the left side, after it was rounded to whole numbers of 8 bits.
double rounded_to_8_bits(const float* row, std::int64_t i) {
  float most = 0;
  for (std::int64_t j = i / kQ8Block * kQ8Block; j < (i / kQ8Block + 1) * kQ8Block; ++j) {
    most = std::max(most, std::abs(row[j]));
  }
  const float inverse = most > 0 ? 127 / most : 0;
  return std::nearbyint(row[i] * inverse) * (most / 127);
}

// Calls f() on every way to multiply that this machine has.
template <class F>
void for_each_way(const F& f) {
  f();
  kernels::force_portable_int8(true);
  for_each_simd_target(f);
  kernels::force_portable_int8(false);
}

std::vector<float> multiply(decltype(kernels::q8_gemm)& gemm, const std::vector<float>& a, Q8Matrix& b, std::int64_t m,
                            std::int64_t n, std::int64_t k) {
  const std::int64_t ldc = n + 3;
  std::vector<float> c(m * ldc, -1);
  gemm(c.data(), ldc, a.data(), k, b.rows(), m, n, k);
  for (std::int64_t i = 0; i < m * ldc; ++i) REQUIRE((i % ldc < n || c[i] == -1));
  return c;
}

}  // namespace

TEST_CASE("q8_0: a number is off by half a step at most, and every whole number of steps is exact") {
  const std::vector<float> x = block_values(8 * kQ8Block, 1);
  const Q8Matrix q(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double step = kernels::widen_f16(q.scales[i / kQ8Block]);
    // The scale itself is rounded to 11 bits.
    REQUIRE(std::abs(q.at(static_cast<std::int64_t>(i)) - x[i]) <= step * (0.5 + 127 * 0x1p-11));
  }
  std::vector<float> whole(kQ8Block);
  for (std::int64_t i = 0; i < kQ8Block; ++i) whole[i] = static_cast<float>(i * 8 - 121) / 64;
  whole[5] = 127.0F / 64;
  Q8Matrix exact(whole);
  std::vector<float> back(kQ8Block);
  kernels::dequantize_q8(back.data(), exact.rows(), kQ8Block);
  CHECK(back == whole);
  CHECK_THROWS_WITH_AS(Q8Matrix(std::vector<float>(kQ8Block, 1e9F)), "a value is beyond the range of Q8_0: 1e+09",
                       Error);
  CHECK_THROWS_AS(Q8Matrix(std::vector<float>(kQ8Block, NAN)), Error);
}

TEST_CASE("q8_0: products of few rows are those of numbers rounded to 8 bits, on every instruction set") {
  for (const std::int64_t m : {1, 3}) {
    for (const std::int64_t n : {1, 7, 21}) {
      for (const std::int64_t k : {32, 64, 96, 512, 544, 1056}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        const std::vector<float> a = block_values(m * k, 2);
        Q8Matrix b(block_values(n * k, 3));
        std::vector<double> left(m * k), sums(m * n), magnitudes(m * n);
        for (std::int64_t i = 0; i < m * k; ++i) left[i] = rounded_to_8_bits(a.data() + i / k * k, i % k);
        for (std::int64_t i = 0; i < m * n; ++i) {
          for (std::int64_t p = 0; p < k; ++p) {
            const double term = left[i / n * k + p] * b.at(i % n * k + p);
            sums[i] += term, magnitudes[i] += std::abs(term);
          }
        }
        for_each_way([&] {
          const std::vector<float> c = multiply(kernels::q8_skinny_gemm, a, b, m, n, k);
          int wrong = 0;
          for (std::int64_t i = 0; i < m * n; ++i) {
            wrong += !(std::abs(c[i / n * (n + 3) + i % n] - sums[i]) <= magnitudes[i] * 1e-6);
          }
          CHECK(wrong == 0);
        });
      }
    }
  }
}

TEST_CASE("q8_0: a row with a number that is not finite gives no finite sum, wherever in its block the number is") {
  constexpr std::int64_t m = 3, n = 9, k = 96;
  const std::vector<float> a = block_values(m * k, 8);
  Q8Matrix b(block_values(n * k, 9));
  for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
    for (const std::int64_t place : {0, 5, 31, 40, 95}) {
      CAPTURE(bad);
      CAPTURE(place);
      std::vector<float> with_bad = a;
      with_bad[k + place] = bad;
      for_each_way([&] {
        const std::vector<float> c = multiply(kernels::q8_skinny_gemm, with_bad, b, m, n, k);
        int wrong = 0;
        for (std::int64_t i = 0; i < m * n; ++i) wrong += std::isfinite(c[i / n * (n + 3) + i % n]) == (i / n == 1);
        CHECK(wrong == 0);
      });
    }
  }
}

TEST_CASE("q8_0: a product has the same bits for any number of rows, columns and threads") {
  constexpr std::int64_t m = 9, n = 301, k = 544;
  const std::vector<float> a = block_values(m * k, 4);
  Q8Matrix b(block_values(n * k, 5));
  const kernels::BatchInvariant invariant;
  for_each_way([&] {
    const std::vector<float> all = multiply(kernels::q8_gemm, a, b, m, n, k);
    const int threads = thread_count();
    for (const int other : {1, 3}) {
      set_thread_count(other);
      CHECK(multiply(kernels::q8_gemm, a, b, m, n, k) == all);
    }
    set_thread_count(threads);
    for (std::int64_t i = 0; i < m; ++i) {
      float one = 0;
      const std::int64_t j = 37 * i;
      kernels::q8_gemm(&one, 1, a.data() + i * k, k, b.rows().from(j * k), 1, 1, k);
      CHECK(one == all[i * (n + 3) + j]);
    }
  });
}

TEST_CASE("q8_0: products of many rows are those of the matrix as numbers, in the precision in force") {
  constexpr std::int64_t m = 19, n = 70, k = 96;
  const std::vector<float> a = block_values(m * k, 6);
  Q8Matrix b(block_values(n * k, 7));
  const auto check_within = [&](double tolerance) {
    const std::vector<float> c = multiply(kernels::q8_gemm, a, b, m, n, k);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += a[i * k + p] * b.at(j * k + p);
          magnitude += std::abs(a[i * k + p] * b.at(j * k + p));
        }
        REQUIRE(std::abs(c[i * (n + 3) + j] - sum) <= tolerance * magnitude);
      }
    }
  };
  check_within(1e-5);
  for_each_bf16_product([&] { check_within(0x1p-7); });
}
