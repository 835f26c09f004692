#include "autograd/kernels/gemm/bf16/bf16_gemm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "autograd/kernels/gemm/precision.h"
#include "core/parallel.h"
#include "tests/kernels/bf16_units.h"
#include "tests/kernels/gemm_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

struct Case {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
  float alpha = 1, beta = 0;
  std::int64_t gap = 0;
};

// Compares one product with sums in double: of rounded operands (medium), or of the operands themselves (high), within
// `bound` times the sum of magnitudes.
void check_product(const Bf16Unit& unit, bool split, const Case& x) {
  const std::int64_t a_cols = x.a_transposed ? x.m : x.k, b_cols = x.b_transposed ? x.k : x.n, ldc = x.n + x.gap;
  const auto a_values = random_values<float>((x.a_transposed ? x.k : x.m) * (a_cols + x.gap), 1);
  const auto b_values = random_values<float>((x.b_transposed ? x.n : x.k) * (b_cols + x.gap), 2);
  const MatrixView<float> a{a_values.data(), a_cols + x.gap, x.a_transposed};
  const MatrixView<float> b{b_values.data(), b_cols + x.gap, x.b_transposed};
  const auto before = random_values<float>(x.m * ldc, 3);
  auto c = before;
  if (x.beta == 0) {
    for (std::int64_t i = 0; i < x.m * ldc; ++i) {
      if (i % ldc < x.n) c[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  bf16_gemm(unit, split, c.data(), ldc, a, b, x.m, x.n, x.k, x.alpha, x.beta);
  // Sums of k products in float, each product exact; the parts of `high` are rounded to 2^-16 of the whole.
  const double sums = (static_cast<double>(x.k) + 4) * std::numeric_limits<float>::epsilon() / 2;
  const double bound = split ? std::ldexp(1, -15) : sums;
  const auto operand = [&](double value) { return split ? value : rounded(value); };
  std::vector<double> rows, columns;
  for (std::int64_t i = 0; i < x.m * x.k; ++i) rows.push_back(operand(at(a, i / x.k, i % x.k)));
  for (std::int64_t i = 0; i < x.n * x.k; ++i) columns.push_back(operand(at(b, i % x.k, i / x.k)));
  int wrong = 0;
  for (std::int64_t i = 0; i < x.m; ++i) {
    for (std::int64_t j = 0; j < ldc; ++j) {
      const float got = c[i * ldc + j], old = before[i * ldc + j];
      if (j >= x.n) {
        wrong += got != old;
        continue;
      }
      double sum = x.beta == 0 ? 0 : static_cast<double>(x.beta) * old, magnitude = std::abs(sum);
      for (std::int64_t p = 0; p < x.k; ++p) {
        const double term = x.alpha * rows[i * x.k + p] * columns[j * x.k + p];
        sum += term;
        magnitude += std::abs(term);
      }
      wrong += !(std::abs(got - sum) <= bound * magnitude);
    }
  }
  CHECK_MESSAGE(wrong == 0, unit.name, split ? " high" : " medium", ", m ", x.m, ", n ", x.n, ", k ", x.k,
                ", transposed ", x.a_transposed, x.b_transposed, ", beta ", x.beta);
}

float product_of(const Bf16Unit& unit, float x, float y) {
  float c = 0;
  bf16_gemm(unit, false, &c, 1, {&x, 1}, {&y, 1}, 1, 1, 1, 1, 0);
  return c;
}

}  // namespace

TEST_CASE("bf16 products on every unit: all sizes to 130 in each dimension, every transposition and beta") {
  for (const Bf16Unit* unit : bf16_units()) {
    for (std::int64_t size = 1; size <= 130; ++size) {
      const int bits = static_cast<int>(size % 4);
      const float betas[] = {0, 1, 0.25};
      const float alpha = size % 2 ? 1 : -0.5F, beta = betas[size % 3];
      check_product(*unit, false, {size, 37, 65, bool(bits & 1), bool(bits & 2), alpha, beta, size % 3});
      check_product(*unit, false, {17, size, 33, bool(bits & 1), bool(bits & 2), alpha, beta, size % 3});
      check_product(*unit, false, {33, 18, size, bool(bits & 1), bool(bits & 2), alpha, beta, size % 3});
      check_product(*unit, true, {size % 40 + 1, size, 131 - size, bool(bits & 1), bool(bits & 2), alpha, beta, 1});
    }
    for (int bits = 0; bits < 4; ++bits) {
      for (const float beta : {0.0F, 1.0F, -2.0F}) {
        for (const bool split : {false, true}) {
          check_product(*unit, split, {64, 64, 64, bool(bits & 1), bool(bits & 2), 1, beta, 0});
          check_product(*unit, split, {129, 70, 130, bool(bits & 1), bool(bits & 2), 2, beta, 5});
        }
      }
      check_product(*unit, false, {40, 70, 1100, bool(bits & 1), bool(bits & 2), 1, 0, 0});  // many blocks of k
      check_product(*unit, true, {70, 40, 1100, bool(bits & 1), bool(bits & 2), 1, 1, 0});
      check_product(*unit, false, {5, 3, 0, bool(bits & 1), bool(bits & 2), 1, 0.5, 0});  // only beta·c
      check_product(*unit, false, {5, 3, 0, bool(bits & 1), bool(bits & 2), 1, 0, 0});
    }
  }
}

TEST_CASE("bf16 products on every unit: operands that are packed in several turns, and tasks of several panels") {
  // Numbers whose sums are exact in float, so that a block that is left out or counted twice shows.
  const auto small_integers = [](std::int64_t n, std::uint64_t stream) {
    auto values = random_values<float>(n, stream);
    for (float& value : values) value = std::round(value);
    return values;
  };
  struct Size {
    std::int64_t m, n, k;
  };
  const int before = thread_count();
  for (const Bf16Unit* unit : bf16_units()) {
    for (const Size& size : {Size{250, 250, 9500}, Size{260, 250, 9500}, Size{100, 100, 9000}, Size{101, 100, 9000},
                             Size{700, 720, 40}, Size{720, 700, 40}, Size{900, 64, 700}}) {
      const std::int64_t m = size.m, n = size.n, k = size.k;
      const auto a = small_integers(m * k, 1), b = small_integers(n * k, 2), old = small_integers(m * n, 3);
      for (const bool split : {false, true}) {
        auto c = old;
        if (k < 1000) set_thread_count(1);  // then a task has several panels
        bf16_gemm(*unit, split, c.data(), n, {a.data(), k}, {b.data(), k, true}, m, n, k, 1, 0.25F);
        set_thread_count(before);
        int wrong = 0;
        for (std::int64_t i = 0; i < m * n; i += 97) {
          float sum = 0.25F * old[i];
          for (std::int64_t p = 0; p < k; ++p) sum += a[i / n * k + p] * b[i % n * k + p];
          wrong += c[i] != sum;
        }
        CHECK_MESSAGE(wrong == 0, unit->name, split ? " high" : " medium", ", m ", m, ", n ", n, ", k ", k);
      }
    }
  }
}

TEST_CASE("bf16 products in software, with every instruction set") {
  for_each_simd_target([] {
    for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 17, 31, 33, 64, 65}) {
      check_product(software_bf16_unit(), false, {size, 37, 65, false, true, 1, 0, 1});
      check_product(software_bf16_unit(), false, {13, size, 33, true, false, -0.5, 1, 2});
      check_product(software_bf16_unit(), true, {5, 66 - size, size, false, true, 1, 0.25, 0});
    }
  });
}

TEST_CASE("bf16 products with weights of bf16 have the bits of those with the same weights in f32, on every unit") {
  const std::int64_t m = 33, n = 1100, k = 700;
  const auto a = random_values<float>(m * k, 1), b = random_values<float>(n * k, 2);
  std::vector<Bf16> weights(n * k);
  std::ranges::transform(b, weights.begin(), round_to_bf16);
  for (const Bf16Unit* unit : bf16_units()) {
    std::vector<float> got(m * n, 1), expected(m * n, 1);
    bf16_gemm(*unit, got.data(), n, {a.data(), k}, MatrixView<Bf16>{weights.data(), k, true}, m, n, k, 0.5F, 2);
    bf16_gemm(*unit, false, expected.data(), n, {a.data(), k}, {b.data(), k, true}, m, n, k, 0.5F, 2);
    CHECK_MESSAGE(got == expected, unit->name);
    // The same weights as a matrix (k, n) whose rows lie one after the other; 1100 is no multiple of a panel.
    std::ranges::fill(got, 1.0F), std::ranges::fill(expected, 1.0F);
    bf16_gemm(*unit, got.data(), n, {a.data(), k}, MatrixView<Bf16>{weights.data(), n}, m, n, k, 0.5F, 2);
    bf16_gemm(*unit, false, expected.data(), n, {a.data(), k}, {b.data(), n}, m, n, k, 0.5F, 2);
    CHECK_MESSAGE(got == expected, unit->name);
    const std::int64_t odd = 77;  // k, no multiple of two
    std::ranges::fill(got, 1.0F), std::ranges::fill(expected, 1.0F);
    bf16_gemm(*unit, got.data(), n, {a.data(), k}, MatrixView<Bf16>{weights.data(), n}, m, n, odd, 0.5F, 2);
    bf16_gemm(*unit, false, expected.data(), n, {a.data(), k}, {b.data(), n}, m, n, odd, 0.5F, 2);
    CHECK_MESSAGE(got == expected, unit->name);
  }
}

TEST_CASE("rounding to bf16 is to nearest, ties to even; subnormal numbers are zero; infinities and NaN stay") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Bf16Unit* unit : bf16_units()) {
    CAPTURE(unit->name);
    const auto round = [&](float x) { return product_of(*unit, x, 1); };
    CHECK(round(1 + 0x1p-8F) == 1);                       // a tie, down to even
    CHECK(round(1 + 3 * 0x1p-8F) == 1 + 0x1p-6F);         // a tie, up to even
    CHECK(round(1 + 0x1p-8F + 0x1p-23F) == 1 + 0x1p-7F);  // above the tie
    CHECK(round(1 + 0x1p-8F - 0x1p-23F) == 1);            // below it
    CHECK(round(-(1 + 0x1.8p-7F)) == -(1 + 0x1p-6F));
    CHECK(round(std::numeric_limits<float>::max()) == infinity);
    CHECK(round(std::numeric_limits<float>::min()) == std::numeric_limits<float>::min());
    CHECK(round(std::numeric_limits<float>::min() * 0.75F) == 0);
    CHECK(round(infinity) == infinity);
    CHECK(std::isnan(round(std::numeric_limits<float>::quiet_NaN())));
    const auto snan = std::bit_cast<float>(0x7F800001U);  // its upper half alone would be an infinity
    CHECK(std::isnan(round(snan)));
  }
}

TEST_CASE("bf16 products have the same bits for any number of threads, of rows and of columns") {
  const std::int64_t m = 150, n = 170, k = 700;
  const auto a = random_values<float>(m * k, 1), b = random_values<float>(n * k, 2);
  const int before = thread_count();
  for (const Bf16Unit* unit : bf16_units()) {
    for (const bool split : {false, true}) {
      std::vector<std::vector<float>> results;
      for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        results.emplace_back(m * n);
        bf16_gemm(*unit, split, results.back().data(), n, {a.data(), k}, {b.data(), k, true}, m, n, k, 1, 0);
      }
      CHECK(results[0] == results[1]);
      CHECK(results[0] == results[2]);
      for (const auto& size : {std::pair<std::int64_t, std::int64_t>{1, 170}, {150, 1}, {9, 9}, {33, 170}}) {
        const std::int64_t rows = size.first, columns = size.second;
        std::vector<float> part(rows * columns);
        const std::int64_t row = m - rows, column = n - columns;
        bf16_gemm(*unit, split, part.data(), columns, {a.data() + row * k, k}, {b.data() + column * k, k, true}, rows,
                  columns, k, 1, 0);
        int different = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            different += part[i * columns + j] != results[0][(row + i) * n + column + j];
          }
        }
        CHECK_MESSAGE(different == 0, unit->name, ", ", rows, " x ", columns);
      }
    }
  }
  set_thread_count(before);
}

TEST_CASE("gemm takes the precision of its scope; f64 and what is outside of a scope stay exact") {
  const std::int64_t m = 20, n = 30, k = 40;
  const auto a = random_values<float>(m * k, 1), b = random_values<float>(n * k, 2);
  const auto product_in = [&](MatmulPrecision precision) {
    const MatmulPrecisionScope scope(precision);
    std::vector<float> c(m * n);
    gemm<float>(c.data(), n, {a.data(), k}, {b.data(), k, true}, m, n, k, 1, 0);
    return c;
  };
  const auto expected = [&](bool split) {
    std::vector<float> c(m * n);
    bf16_gemm(bf16_unit(), split, c.data(), n, {a.data(), k}, {b.data(), k, true}, m, n, k, 1, 0);
    return c;
  };
  std::vector<float> outside(m * n);
  gemm<float>(outside.data(), n, {a.data(), k}, {b.data(), k, true}, m, n, k, 1, 0);
  CHECK(product_in(MatmulPrecision::highest) == outside);
  CHECK(product_in(MatmulPrecision::high) == expected(true));
  CHECK(product_in(MatmulPrecision::medium) == expected(false));
  CHECK(product_in(MatmulPrecision::medium) != outside);

  const auto a64 = random_values<double>(m * k, 1), b64 = random_values<double>(n * k, 2);
  std::vector<double> plain(m * n), scoped(m * n);
  gemm<double>(plain.data(), n, {a64.data(), k}, {b64.data(), k, true}, m, n, k, 1, 0);
  const MatmulPrecisionScope scope(MatmulPrecision::medium);
  gemm<double>(scoped.data(), n, {a64.data(), k}, {b64.data(), k, true}, m, n, k, 1, 0);
  CHECK(plain == scoped);
}
