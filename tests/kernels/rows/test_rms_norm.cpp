#include "autograd/kernels/rows/rms_norm.h"

#include <doctest/doctest.h>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

template <class T>
void check_rms_norm(std::int64_t rows, std::int64_t cols) {
  CAPTURE(rows);
  CAPTURE(cols);
  const T eps = static_cast<T>(1e-5);
  const Array<T> x = random_array<T>(rows * cols, 1, -1, 3), dy = random_array<T>(rows * cols, 2);
  const Array<T> gamma = random_array<T>(cols, 3);
  const auto gamma_at = [&](std::int64_t j) { return double{gamma[j]}; };

  Array<long double> rstd(rows, 0), x_hat(rows * cols), sum_gx(rows, 0), dgamma(cols, 0);
  for (std::int64_t i = 0; i < rows * cols; ++i) rstd[i / cols] += static_cast<long double>(x[i]) * x[i] / cols;
  for (std::int64_t row = 0; row < rows; ++row) rstd[row] = 1 / std::sqrt(rstd[row] + eps);
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    x_hat[i] = x[i] * rstd[i / cols];
    sum_gx[i / cols] += dy[i] * gamma_at(i % cols) * x_hat[i];
    dgamma[i % cols] += dy[i] * x_hat[i];
  }

  double largest = 1;
  for (std::int64_t row = 0; row < rows; ++row) largest = std::max(largest, static_cast<double>(rstd[row]));
  const double tolerance = kTolerance<T> * 2 * largest;
  Array<T> y(rows * cols), again(rows * cols), got_rstd(rows);
  rms_norm_forward<T>(y, got_rstd, x, gamma, rows, cols, eps);
  CHECK(worst_error(got_rstd, [&](std::int64_t row) { return rstd[row]; }) <= tolerance);
  CHECK(worst_error(y, [&](std::int64_t i) { return x_hat[i] * gamma_at(i % cols); }) <= tolerance);
  rms_norm_recompute<T>(again, x, got_rstd, gamma, rows, cols);
  CHECK(std::equal(again.data(), again.data() + rows * cols, y.data()));

  // Each gradient with the other wanted, and by itself with another beta.
  Array<T> ignored_x(rows * cols), ignored_gamma(cols);
  check_accumulates<T>(
      rows * cols,
      [&](T* dx, T b) {
        rms_norm_backward<T>(dx, b, b == 0 ? nullptr : ignored_gamma.data(), 0, dy, x, got_rstd, gamma, rows, cols);
      },
      [&](std::int64_t i) {
        const std::int64_t row = i / cols;
        return rstd[row] * (dy[i] * gamma_at(i % cols) - x_hat[i] * sum_gx[row] / cols);
      },
      tolerance * largest);
  check_accumulates<T>(
      cols,
      [&](T* dg, T b) {
        rms_norm_backward<T>(b == 0 ? nullptr : ignored_x.data(), 0, dg, b, dy, x, got_rstd, gamma, rows, cols);
      },
      [&](std::int64_t j) { return dgamma[j]; }, tolerance * std::max(1.0, std::sqrt(rows)));
}

}  // namespace

TEST_CASE_TEMPLATE("rms_norm: values and gradients against plain loops in double", T, float, double) {
  for_each_simd_target([] {
    for (std::int64_t cols = 1; cols <= 70; ++cols) check_rms_norm<T>(1 + cols % 5, cols);
    check_rms_norm<T>(300, 768);
    check_rms_norm<T>(3, 20001);
    check_rms_norm<T>(5000, 17);
    check_rms_norm<T>(0, 3);
  });
}

TEST_CASE_TEMPLATE("rms_norm: the same bits for any number of threads", T, float, double) {
  const std::int64_t rows = 2000, cols = 65;
  const Array<T> x = random_array<T>(rows * cols, 1), dy = random_array<T>(rows * cols, 2), gamma(cols, T{1.5});
  for_each_simd_target([&] {
    check_same_for_any_thread_count([&] {
      Array<T> y(rows * cols), rstd(rows), out((rows + 1) * cols, 0);
      rms_norm_forward<T>(y, rstd, x, gamma, rows, cols, 1e-5);
      std::copy(y.data(), y.data() + rows * cols, out.data());
      rms_norm_backward<T>(out, 1, &out[rows * cols], 0, dy, x, rstd, gamma, rows, cols);
      return out;
    });
  });
}
