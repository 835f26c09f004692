#include "autograd/kernels/rows/layer_norm.h"

#include <doctest/doctest.h>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

template <class T>
void check_layer_norm(std::int64_t rows, std::int64_t cols, bool with_beta) {
  CAPTURE(rows);
  CAPTURE(cols);
  CAPTURE(with_beta);
  const T eps = static_cast<T>(1e-5);
  const Array<T> x = random_array<T>(rows * cols, 1, -1, 3), dy = random_array<T>(rows * cols, 2);
  const Array<T> gamma = random_array<T>(cols, 3), beta = random_array<T>(cols, 4);
  const auto gamma_at = [&](std::int64_t j) { return double{gamma[j]}; };

  Array<long double> mean(rows, 0), rstd(rows, 0), x_hat(rows * cols), sum_g(rows, 0), sum_gx(rows, 0);
  Array<long double> dgamma(cols, 0), dbeta(cols, 0);
  for (std::int64_t i = 0; i < rows * cols; ++i) mean[i / cols] += static_cast<long double>(x[i]) / cols;
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const long double off = x[i] - mean[i / cols];
    rstd[i / cols] += off * off / cols;
  }
  for (std::int64_t row = 0; row < rows; ++row) rstd[row] = 1 / std::sqrt(rstd[row] + eps);
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const std::int64_t row = i / cols, j = i % cols;
    x_hat[i] = (x[i] - mean[row]) * rstd[row];
    sum_g[row] += dy[i] * gamma_at(j), sum_gx[row] += dy[i] * gamma_at(j) * x_hat[i];
    dgamma[j] += dy[i] * x_hat[i], dbeta[j] += dy[i];
  }

  // With few columns a row can be nearly constant, and then x − μ has fewer correct digits.
  double largest = 1;
  for (std::int64_t row = 0; row < rows; ++row) largest = std::max(largest, static_cast<double>(rstd[row]));
  const double tolerance = kTolerance<T> * 2 * largest;
  Array<T> y(rows * cols), got_mean(rows), got_rstd(rows);
  layer_norm_forward<T>(y, got_mean, got_rstd, x, gamma, with_beta ? beta.data() : nullptr, rows, cols, eps);
  CHECK(worst_error(got_mean, [&](std::int64_t row) { return mean[row]; }) <= kTolerance<T>);
  CHECK(worst_error(got_rstd, [&](std::int64_t row) { return rstd[row]; }) <= tolerance);
  CHECK(worst_error(y, [&](std::int64_t i) {
          return x_hat[i] * gamma_at(i % cols) + (with_beta ? double{beta[i % cols]} : 0);
        }) <= tolerance);

  // Each gradient together with the others, alone with another beta, and left out.
  const auto backward = [&](T* dx, T dx_beta, T* dg, T dg_beta, T* db, T db_beta) {
    layer_norm_backward<T>(dx, dx_beta, dg, dg_beta, db, db_beta, dy, x, got_mean, got_rstd, gamma, rows, cols);
  };
  Array<T> ignored_x(rows * cols), ignored_gamma(cols), ignored_beta(cols);
  check_accumulates<T>(
      rows * cols, [&](T* dx, T b) { backward(dx, b, ignored_gamma, 0, b == 0 ? nullptr : ignored_beta.data(), 0); },
      [&](std::int64_t i) {
        const std::int64_t row = i / cols;
        return rstd[row] * (dy[i] * gamma_at(i % cols) - sum_g[row] / cols - x_hat[i] * sum_gx[row] / cols);
      },
      tolerance * largest);
  const double sum_tolerance = tolerance * std::max(1.0, std::sqrt(rows));
  check_accumulates<T>(
      cols, [&](T* dg, T b) { backward(b == 0 ? nullptr : ignored_x.data(), 0, dg, b, ignored_beta, 0); },
      [&](std::int64_t j) { return dgamma[j]; }, sum_tolerance);
  check_accumulates<T>(
      cols, [&](T* db, T b) { backward(ignored_x, 0, b == 0 ? nullptr : ignored_gamma.data(), 0, db, b); },
      [&](std::int64_t j) { return dbeta[j]; }, sum_tolerance);
}

}  // namespace

TEST_CASE_TEMPLATE("layer_norm: values and gradients against plain loops in double", T, float, double) {
  for_each_simd_target([] {
    for (std::int64_t cols = 1; cols <= 70; ++cols) check_layer_norm<T>(1 + cols % 5, cols, cols % 3 != 0);
    check_layer_norm<T>(300, 768, true);
    check_layer_norm<T>(3, 20001, false);
    check_layer_norm<T>(5000, 17, true);
    check_layer_norm<T>(0, 3, true);
  });
}

TEST_CASE_TEMPLATE("layer_norm: the variance stays exact under a large offset", T, float, double) {
  const std::int64_t cols = 100;
  Array<T> x(cols), y(cols), mean(1), rstd(1), ones(cols, T{1});
  for (std::int64_t j = 0; j < cols; ++j) x[j] = 1e5 + j % 2;
  layer_norm_forward<T>(y, mean, rstd, x, ones, nullptr, 1, cols, 0);
  CHECK(mean[0] == 1e5 + 0.5);
  CHECK(rstd[0] == 2);
  CHECK(worst_error(y, [](std::int64_t j) { return j % 2 ? 1 : -1; }) == 0);
}

TEST_CASE_TEMPLATE("layer_norm: the same bits for any number of threads", T, float, double) {
  const std::int64_t rows = 2000, cols = 65;
  const Array<T> x = random_array<T>(rows * cols, 1), dy = random_array<T>(rows * cols, 2), gamma(cols, T{1.5});
  for_each_simd_target([&] {
    check_same_for_any_thread_count([&] {
      Array<T> y(rows * cols), mean(rows), rstd(rows), out((rows + 2) * cols, 0);
      layer_norm_forward<T>(y, mean, rstd, x, gamma, gamma, rows, cols, 1e-5);
      std::copy(y.data(), y.data() + rows * cols, out.data());
      layer_norm_backward<T>(out, 1, &out[rows * cols], 0, &out[(rows + 1) * cols], 0, dy, x, mean, rstd, gamma, rows,
                             cols);
      return out;
    });
  });
}

TEST_CASE_TEMPLATE("layer_norm: the output computed again has the bits of the first", T, float, double) {
  for_each_simd_target([] {
    for (std::int64_t cols : {1, 5, 16, 33, 200}) {
      const std::int64_t rows = 300, n = rows * cols;
      const Array<T> x = random_array<T>(n, 1), gamma = random_array<T>(cols, 2), beta = random_array<T>(cols, 3);
      for (const T* shift : {static_cast<const T*>(nullptr), static_cast<const T*>(beta)}) {
        Array<T> y(n), mean(rows), rstd(rows), again(n);
        layer_norm_forward<T>(y, mean, rstd, x, gamma, shift, rows, cols, 1e-5);
        layer_norm_recompute<T>(again, x, mean, rstd, gamma, shift, rows, cols);
        CHECK(std::equal(again.data(), again.data() + n, y.data()));
      }
    }
  });
}
