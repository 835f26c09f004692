// Products of few rows in bf16, as generation needs them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/kernels/gemm/precision.h"
#include "autograd/kernels/gemm/skinny_gemm.h"
#include "core/parallel.h"
#include "tests/kernels/bf16_units.h"
#include "tests/kernels/gemm_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

enum class FewRows { rounded, k_contiguous, k_strided };  // the right side: weights of bf16, or f32 that is rounded

// Compares products of few rows by bf16_unit() with sums of rounded numbers in double.
void check_few_rows(FewRows kind, std::int64_t m, std::int64_t n, std::int64_t k, float beta) {
  const std::int64_t gap = 3;
  const auto a = random_values<float>(m * (k + gap), 1), b = random_values<float>(n * k, 2);
  // What stands between the columns of b, and after the rows of a before they are packed, must not be used.
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const std::int64_t ldb = k + gap, ldb_strided = n + gap;
  std::vector<float> columns(n * ldb, kNaN), rows(k * ldb_strided, kNaN);
  for (std::int64_t i = 0; i < n * k; ++i) {
    columns[i / k * ldb + i % k] = rows[i % k * ldb_strided + i / k] = b[i];
  }
  std::vector<Bf16> weights(n * ldb);
  std::ranges::transform(columns, weights.begin(), round_to_bf16);
  const auto before = random_values<float>(m * (n + gap), 3);
  auto c = before;
  for (std::int64_t i = 0; beta == 0 && i < m * (n + gap); ++i) {
    if (i % (n + gap) < n) c[i] = kNaN;
  }
  if (kind == FewRows::rounded) {
    skinny_gemm(c.data(), n + gap, {a.data(), k + gap}, MatrixView<Bf16>{weights.data(), ldb, true}, m, n, k, 0.5F,
                beta);
  } else {
    const bool contiguous = kind == FewRows::k_contiguous;
    std::vector<Bf16> left(m * packed_depth(k), round_to_bf16(kNaN));
    bf16_unit().pack_rows(left.data(), nullptr, packed_depth(k), {a.data(), k + gap, true}, m, k);
    bf16_unit().round_and_multiply_few_rows(
        c.data(), n + gap, left.data(), packed_depth(k),
        {contiguous ? columns.data() : rows.data(), contiguous ? ldb : ldb_strided, contiguous}, m, n, k, 0.5F, beta);
  }
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n + gap; ++j) {
      const float got = c[i * (n + gap) + j], old = before[i * (n + gap) + j];
      if (j >= n) {
        wrong += got != old;
        continue;
      }
      double sum = beta == 0 ? 0 : static_cast<double>(beta) * old, magnitude = std::abs(sum);
      for (std::int64_t p = 0; p < k; ++p) {
        const double term = 0.5 * rounded(a[i * (k + gap) + p]) * rounded(b[j * k + p]);
        sum += term, magnitude += std::abs(term);
      }
      const double bound = (static_cast<double>(k) + 4) * std::numeric_limits<float>::epsilon() / 2;
      wrong += !(std::abs(got - sum) <= bound * magnitude);
    }
  }
  CHECK_MESSAGE(wrong == 0, bf16_unit().name, ", m ", m, ", n ", n, ", k ", k);
}

}  // namespace

TEST_CASE("products of few rows are those of the rounded rows, on every unit") {
  for_each_bf16_unit([] {
    for (const FewRows kind : {FewRows::rounded, FewRows::k_contiguous, FewRows::k_strided}) {
      if (kind != FewRows::rounded && !bf16_unit().round_and_multiply_few_rows) continue;
      for (std::int64_t m = 1; m <= 9; ++m) {
        for (const std::int64_t n : {1, 5, 8, 16, 33, 70}) {
          for (const std::int64_t k : {1, 7, 16, 31, 32, 33, 131}) check_few_rows(kind, m, n, k, m % 2 == 0 ? 3 : 0);
        }
      }
    }
  });
}

TEST_CASE("products of few rows with weights of bf16 are those of the rounded rows, with every instruction set") {
  const ForcedBf16Unit forced(software_bf16_unit());
  for_each_simd_target([] {
    for (const std::int64_t m : {1, 3, 8}) {
      for (const std::int64_t n : {1, 5, 70}) {
        for (const std::int64_t k : {1, 7, 16, 33, 131}) check_few_rows(FewRows::rounded, m, n, k, 3);
      }
    }
  });
}

TEST_CASE("products of few rows have the same bits for any number of threads, of rows and of columns, on every unit") {
  const std::int64_t m = 9, n = 300, k = 517, distance = packed_depth(k);
  const auto a = random_array<float>(m * k, 1), b = random_array<float>(n * k, 2);
  std::vector<Bf16> weights(n * k);
  std::transform(b.data(), b.data() + n * k, weights.begin(), round_to_bf16);
  for_each_bf16_unit([&] {
    const auto products = [&](std::int64_t rows, std::int64_t column, std::int64_t columns) {
      Array<float> c(rows * columns);
      skinny_gemm(c, columns, {a, k}, MatrixView<Bf16>{weights.data() + column * k, k, true}, rows, columns, k, 1, 0);
      return c;
    };
    const Array<float> whole = products(m, 0, n);
    check_same_for_any_thread_count([&] { return products(m, 0, n); });
    std::vector<Bf16> left(m * distance);
    bf16_unit().pack_rows(left.data(), nullptr, distance, {a, k, true}, m, k);
    const auto check_part = [&](const Array<float>& part, std::int64_t rows, std::int64_t column) {
      CAPTURE(rows);
      CAPTURE(column);
      const std::int64_t columns = n - column;
      for (std::int64_t i = 0; i < rows; ++i) {
        CHECK(std::memcmp(part.data() + i * columns, whole.data() + i * n + column, columns * sizeof(float)) == 0);
      }
    };
    for (std::int64_t rows = 1; rows <= m; ++rows) {
      for (const std::int64_t column : {0, 1, 7, 298}) {
        const std::int64_t columns = n - column;
        check_part(products(rows, column, columns), rows, column);
        if (!bf16_unit().round_and_multiply_few_rows) continue;
        Array<float> c(rows * columns);
        bf16_unit().round_and_multiply_few_rows(c, columns, left.data(), distance, {b + column * k, k, true}, rows,
                                                columns, k, 1, 0);
        check_part(c, rows, column);
      }
    }
  });
}
