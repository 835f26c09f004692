#include "autograd/kernels/rows/softmax.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

// Softmax or its logarithm, row by row in double.
template <class T>
Array<double> reference(const Array<T>& x, std::int64_t cols, bool logarithm) {
  Array<double> y(x.size());
  for (std::int64_t row = 0; row < x.size(); row += cols) {
    double max = -std::numeric_limits<double>::infinity();
    long double sum = 0;
    for (std::int64_t j = row; j < row + cols; ++j) max = std::max(max, double{x[j]});
    for (std::int64_t j = row; j < row + cols; ++j) sum += std::exp(x[j] - max);
    for (std::int64_t j = row; j < row + cols; ++j) {
      y[j] = logarithm ? x[j] - max - std::log(sum) : std::exp(x[j] - max) / sum;
    }
  }
  return y;
}

std::vector<std::pair<std::int64_t, std::int64_t>> shapes() {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{3, 50257}, {300, 130}, {0, 5}};
  for (std::int64_t cols = 1; cols <= 70; ++cols) shapes.push_back({1 + cols % 5, cols});
  return shapes;
}

template <class T>
using Forward = void (*)(T*, const T*, std::int64_t, std::int64_t);
template <class T>
using Backward = void (*)(T*, const T*, const T*, std::int64_t, std::int64_t, T);

template <class T>
void check_softmax(Forward<T> forward, Backward<T> backward, bool logarithm) {
  for_each_simd_target([&] {
    for (const auto& shape : shapes()) {
      const std::int64_t rows = shape.first, cols = shape.second;
      CAPTURE(cols);
      const Array<T> x = random_array<T>(rows * cols, 1, -8, 8), dy = random_array<T>(rows * cols, 2);
      const Array<double> expected = reference(x, cols, logarithm);
      Array<T> y = x;
      forward(y, y, rows, cols);
      if (!logarithm) {  // small ones are as exact as large ones: a rounded x − max moves e^x by this much
        double worst = 0;
        for (std::int64_t i = 0; i < y.size(); ++i) worst = std::max(worst, difference(y[i] / expected[i], 1));
        CHECK(worst <= 16 * std::numeric_limits<T>::epsilon());
      }

      Array<long double> dot(rows, 0);
      for (std::int64_t i = 0; i < y.size(); ++i)
        dot[i / cols] += static_cast<long double>(dy[i]) * (logarithm ? 1 : y[i]);
      check_accumulates<T>(
          rows * cols, [&](T* dx, T beta) { backward(dx, dy, y, rows, cols, beta); },
          [&](std::int64_t i) {
            return logarithm ? dy[i] - std::exp(double{y[i]}) * dot[i / cols] : y[i] * (dy[i] - dot[i / cols]);
          },
          logarithm ? 4 * kTolerance<T> : kTolerance<T>);  // the sum of a row of dy is in the tens, and so its rounding
    }
  });
}

}  // namespace

TEST_CASE_TEMPLATE("softmax: values and gradients against plain loops in double", T, float, double) {
  check_softmax<T>(softmax_forward<T>, softmax_backward<T>, false);
}

TEST_CASE_TEMPLATE("log_softmax: values and gradients against plain loops in double", T, float, double) {
  check_softmax<T>(log_softmax_forward<T>, log_softmax_backward<T>, true);
}

TEST_CASE("softmax: known values") {
  Array<double> y(5);
  const double x[] = {1.3, 5.1, 2.2, 0.7, 1.1}, expected[] = {0.02, 0.90, 0.05, 0.01, 0.02};
  softmax_forward<double>(y, x, 1, 5);
  for (int i = 0; i < 5; ++i) CHECK(std::round(100 * y[i]) / 100 == doctest::Approx(expected[i]));
}

TEST_CASE_TEMPLATE("softmax: large logits, masked ones, rows of -inf and NaN", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for_each_simd_target([&] {
    for (std::int64_t cols = 2; cols <= 40; ++cols) {
      CAPTURE(cols);
      Array<T> x(4 * cols, -infinity), y(4 * cols);
      x[0] = 1000, x[cols - 1] = 1000;  // equal, the rest masked
      x[2 * cols + cols / 2] = nan;     // row 1 is masked altogether, row 2 has a NaN
      std::fill(&x[3 * cols], &x[3 * cols] + cols, T{-1e30});
      softmax_forward<T>(y, x, 4, cols);
      bool right = y[0] == T{0.5} && y[cols - 1] == T{0.5};
      for (std::int64_t j = 0; j < cols; ++j) {
        right = right && (j == 0 || j == cols - 1 || y[j] == 0) && y[cols + j] == 0 && std::isnan(y[2 * cols + j]) &&
                std::abs(y[3 * cols + j] - T{1} / cols) < 1e-6;
      }
      CHECK(right);
      log_softmax_forward<T>(y, x, 4, cols);
      CHECK(y[0] == doctest::Approx(-std::log(2.0)));
      CHECK(y[cols] == -infinity);
      CHECK(std::isnan(y[2 * cols]));
      CHECK(y[3 * cols] == doctest::Approx(-std::log(1.0 * cols)));
    }
  });
}

TEST_CASE_TEMPLATE("softmax: the same bits for any number of threads", T, float, double) {
  const std::int64_t rows = 1000, cols = 77;
  const Array<T> x = random_array<T>(rows * cols, 1), dy = random_array<T>(rows * cols, 2);
  for_each_simd_target([&] {
    check_same_for_any_thread_count([&] {
      Array<T> y(rows * cols), dx = x;
      softmax_forward<T>(y, x, rows, cols);
      softmax_backward<T>(dx, dy, y, rows, cols, 1);
      log_softmax_forward<T>(y, x, rows, cols);
      log_softmax_backward<T>(dx, dy, y, rows, cols, 1);
      return dx;
    });
  });
}
