// Compares matrix products with plain sums in double.
#pragma once

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "autograd/kernels/gemm/gemm.h"
#include "tests/kernels/kernel_test.h"

namespace tapeformer {

template <class T>
T at(const kernels::MatrixView<T>& matrix, std::int64_t i, std::int64_t j) {
  return matrix.transposed ? matrix.data[j * matrix.ld + i] : matrix.data[i * matrix.ld + j];
}

// Element (i, j) of beta·c + alpha·a·b, in double, with its rounding bound: the sum of magnitudes.
template <class T>
std::pair<double, double> product(const kernels::MatrixView<T>& a, const kernels::MatrixView<T>& b, T c, std::int64_t i,
                                  std::int64_t j, std::int64_t k, T alpha, T beta) {
  double sum = beta == 0 ? 0 : static_cast<double>(beta) * c, magnitude = std::abs(sum);
  for (std::int64_t l = 0; l < k; ++l) {
    const double term = static_cast<double>(alpha) * at(a, i, l) * at(b, l, j);
    sum += term;
    magnitude += std::abs(term);
  }
  return {sum, magnitude};
}

// Checks gemm's contract for one shape, for kernels::gemm or another function with the same arguments. Rows are `gap`
// elements further apart than necessary.
template <class T, class Gemm = decltype(&kernels::gemm<T>)>
void check_gemm(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed, T alpha, T beta,
                std::int64_t gap, const Gemm& gemm = kernels::gemm<T>) {
  const std::int64_t a_cols = a_transposed ? m : k, b_cols = b_transposed ? k : n, ldc = n + gap;
  const auto a_values = random_values<T>((a_transposed ? k : m) * (a_cols + gap), 1);
  const auto b_values = random_values<T>((b_transposed ? n : k) * (b_cols + gap), 2);
  const kernels::MatrixView<T> a{a_values.data(), a_cols + gap, a_transposed},
      b{b_values.data(), b_cols + gap, b_transposed};
  const auto before = random_values<T>(m * ldc, 3);
  auto c = before;
  if (beta == 0) {
    for (std::int64_t i = 0; i < m * ldc; ++i) {
      if (i % ldc < n) c[i] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  gemm(c.data(), ldc, a, b, m, n, k, alpha, beta);
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

}  // namespace tapeformer
