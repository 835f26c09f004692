#include "autograd/kernels/gemm/band_gemm.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

// Whether the band lets query i see key j.
bool sees(const Band& band, std::int64_t query, std::int64_t key) {
  return key < band.first_visible + query && (!band.first_seen || key >= band.first_seen[query]);
}

// Compares one product, whose operands have unusual strides, with plain loops in double. Masked elements of a are 0;
// masked elements of c may become anything.
template <class T>
void check_product(std::int64_t m, std::int64_t n, std::int64_t k, bool a_by_columns, const Band& band, T alpha,
                   T beta) {
  const std::int64_t ldc = n + 3, ldb = n + 5;
  const StridedMatrix<T> shape{nullptr, a_by_columns ? 1 : k + 2, a_by_columns ? m + 2 : 1};
  Array<T> a = random_array<T>((m + 2) * (k + 2), 1), b = random_array<T>(k * ldb + n, 2);
  const auto a_at = [&](std::int64_t i, std::int64_t p) -> T& { return a[i * shape.row + p * shape.column]; };
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      if (band.kind == Band::left && !sees(band, i, p)) a_at(i, p) = 0;
      if (band.kind == Band::left_transposed && !sees(band, p, i)) a_at(i, p) = 0;
    }
  }
  const Array<T> before = beta == 0 ? Array<T>(m * ldc) : random_array<T>(m * ldc, 3);
  Array<T> c = before;
  band_gemm<T>(c, ldc, {a.data(), shape.row, shape.column}, b, ldb, m, n, k, alpha, beta, band);
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < ldc; ++j) {
      const T got = c[i * ldc + j], old = before[i * ldc + j];
      if (j >= n) {
        wrong += difference(got, old) != 0;
        continue;
      }
      if (band.kind == Band::output && !sees(band, i, j)) continue;
      double sum = 0, magnitude = beta == 0 ? 0 : std::abs(static_cast<double>(beta) * old);
      for (std::int64_t p = 0; p < k; ++p) {
        const double term = static_cast<double>(a_at(i, p)) * b[p * ldb + j];
        sum += term;
        magnitude += std::abs(alpha * term);
      }
      const double expected = alpha * sum + (beta == 0 ? 0 : static_cast<double>(beta) * old);
      wrong +=
          !(std::abs(got - expected) <= magnitude * static_cast<double>(k + 3) * std::numeric_limits<T>::epsilon());
    }
  }
  CHECK_MESSAGE(wrong == 0, "m ", m, ", n ", n, ", k ", k, ", columns ", a_by_columns, ", band ", band.kind, " from ",
                band.first_visible, ", beta ", beta);
}

}  // namespace

TEST_CASE_TEMPLATE("band_gemm: any size, stride and band agrees with plain loops in double", T, float, double) {
  for_each_simd_target([] {
    for (std::int64_t n = 1; n <= 70; n += n < 20 ? 1 : 7) {
      const std::int64_t m = 1 + n % 13, k = 1 + n * 3 % 17;
      check_product<T>(m, n, k, n % 2, {}, T{1}, T{0});
      check_product<T>(m, n, k, n % 2 == 0, {}, T{0.5}, T{1});
    }
    for (std::int64_t first : {-70, -3, 0, 1, 5, 64, 300}) {
      for (T beta : {T{0}, T{1}, T{0.5}}) {
        check_product<T>(64, 64, 32, false, {Band::output, first}, T{2}, beta);
        check_product<T>(33, 97, 8, false, {Band::output, first}, T{1}, beta);
        check_product<T>(64, 32, 64, false, {Band::left, first}, T{1}, beta);
        check_product<T>(20, 17, 600, false, {Band::left, first}, T{1}, beta);
        check_product<T>(64, 32, 64, true, {Band::left_transposed, first}, T{1}, beta);
        check_product<T>(50, 40, 600, true, {Band::left_transposed, first}, T{1}, beta);
      }
    }
    // The first seen key grows from query to query, with steps and with runs of equal ones.
    std::vector<std::int32_t> first_seen(600);
    for (int i = 0; i < 600; ++i) first_seen[i] = i / 7 % 3 == 0 ? i / 21 * 21 : i / 2 * 2 - i % 2;
    std::sort(first_seen.begin(), first_seen.end());
    for (std::int64_t first : {1, 5, 300}) {
      for (T beta : {T{0}, T{1}, T{0.5}}) {
        check_product<T>(64, 97, 8, false, {Band::output, first, first_seen.data()}, T{1}, beta);
        check_product<T>(64, 32, 64, false, {Band::left, first, first_seen.data()}, T{1}, beta);
        check_product<T>(500, 9, 600, false, {Band::left, first, first_seen.data()}, T{1}, beta);
        check_product<T>(64, 32, 64, true, {Band::left_transposed, first, first_seen.data()}, T{1}, beta);
        check_product<T>(50, 40, 600, true, {Band::left_transposed, first, first_seen.data()}, T{1}, beta);
      }
    }
    check_product<T>(3, 5, 0, false, {}, T{1}, T{0.5});
    check_product<T>(3, 5, 0, false, {}, T{1}, T{0});
    check_product<T>(0, 5, 4, false, {}, T{1}, T{0});
  });
}

TEST_CASE_TEMPLATE("band_gemm: what a band hides is not read", T, float, double) {
  for_each_simd_target([] {
    const std::int64_t size = 64;
    Array<T> a(size * size, 0), b(size * size, 1), c(size * size);
    // The query sees only the first key: the other rows of b are NaN, and 0 times NaN would show.
    for (std::int64_t i = size + 8; i < size * size; ++i) b[i] = std::numeric_limits<T>::quiet_NaN();
    for (std::int64_t p = 0; p < size; ++p) a[p] = p < 1 ? T{3} : T{0};
    band_gemm<T>(c, size, {a.data(), size, 1}, b, size, 1, 8, size, 1, 0, {Band::left, 1});
    for (std::int64_t j = 0; j < 8; ++j) CHECK(c[j] == 3);
    // The queries see only the last key.
    Array<T> later(size * size), twos(size * size, 2);
    for (std::int64_t i = (size - 1) * size; i < size * size; ++i) later[i] = 1;
    const std::vector<std::int32_t> last(size, size - 1);
    band_gemm<T>(c, size, {twos.data(), size, 1}, later, size, size, size, size, 1, 0, {Band::left, size, last.data()});
    CHECK(worst_error(c, [](std::int64_t) { return 2; }) == 0);
    // Only the first 8 queries see these keys.
    Array<T> early(size * 8, 1), sums(6 * 8);
    std::fill(early.data() + 8 * 8, early.data() + size * 8, std::numeric_limits<T>::quiet_NaN());
    std::vector<std::int32_t> first(size, 6);
    std::fill(first.begin(), first.begin() + 8, 0);
    band_gemm<T>(sums, 8, {twos.data(), 1, size}, early, 8, 6, 8, size, 1, 0,
                 {Band::left_transposed, size, first.data()});
    CHECK(worst_error(sums, [](std::int64_t) { return 16; }) == 0);
  });
}

TEST_CASE_TEMPLATE("transpose: every shape", T, float, double) {
  for_each_simd_target([] {
    for (std::int64_t rows = 0; rows <= 9; ++rows) {
      for (std::int64_t cols = 1; cols <= 19; ++cols) {
        const Array<T> x = random_array<T>(rows * (cols + 2), 1);
        Array<T> y(cols * (rows + 3), -9);
        transpose<T>(y, rows + 3, x, cols + 2, rows, cols);
        int wrong = 0;
        for (std::int64_t j = 0; j < cols; ++j) {
          for (std::int64_t i = 0; i < rows + 3; ++i) {
            wrong += y[j * (rows + 3) + i] != (i < rows ? x[i * (cols + 2) + j] : T{-9});
          }
        }
        CHECK(wrong == 0);
      }
    }
  });
}
