#include "autograd/kernels/elementwise/elementwise.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

TEST_CASE_TEMPLATE("elementwise: arithmetic of every length, with every beta", T, float, double) {
  for_each_simd_target([] {
    for (std::int64_t n : test_sizes()) {
      const Array<T> a = random_array<T>(n, 1), b = random_array<T>(n, 2, 0.5, 3);
      const T alpha = T{0.75};
      check_accumulates<T>(
          n, [&](T* out, T beta) { axpby(out, alpha, a.data(), beta, n); },
          [&](std::int64_t i) { return double{alpha} * a[i]; });
      check_accumulates<T>(
          n, [&](T* out, T beta) { mul(out, a.data(), b.data(), beta, n); },
          [&](std::int64_t i) { return double{a[i]} * b[i]; });
      check_accumulates<T>(
          n, [&](T* out, T beta) { div(out, a.data(), b.data(), beta, n); },
          [&](std::int64_t i) { return double{a[i]} / b[i]; });

      // One rounding: the same bits as plain C++.
      Array<T> out(n);
      add<T>(out, a, b, n);
      CHECK(worst_error(out, [&](std::int64_t i) { return a[i] + b[i]; }) == 0);
      sub<T>(out, a, b, n);
      CHECK(worst_error(out, [&](std::int64_t i) { return a[i] - b[i]; }) == 0);
      add_scalar<T>(out, a, T{1.5}, n);
      CHECK(worst_error(out, [&](std::int64_t i) { return a[i] + T{1.5}; }) == 0);
      sqrt_forward<T>(out, b, n);
      CHECK(worst_error(out, [&](std::int64_t i) { return std::sqrt(b[i]); }) == 0);
      out = a;
      add<T>(out, out, out, n);
      CHECK(worst_error(out, [&](std::int64_t i) { return 2 * a[i]; }) == 0);
      fill<T>(out, T{-3}, n);
      CHECK(worst_error(out, [](std::int64_t) { return -3; }) == 0);
      Array<std::int32_t> ids(n, 0);
      fill<std::int32_t>(ids, 7, n);
      CHECK(worst_error(ids, [](std::int64_t) { return 7; }) == 0);
    }
  });
}

TEST_CASE_TEMPLATE("elementwise: add_bias adds the bias to every row", T, float, double) {
  for_each_simd_target([] {
    using Shape = std::pair<std::int64_t, std::int64_t>;
    for (const auto& shape : {Shape{1, 1}, {3, 5}, {70, 65}, {7, 16}, {1000, 33}, {3, 20000}, {0, 4}, {4, 0}}) {
      const std::int64_t rows = shape.first, cols = shape.second;
      const Array<T> before = random_array<T>(rows * cols, 1), bias = random_array<T>(cols, 2);
      Array<T> x = before;
      add_bias<T>(x, bias, rows, cols);
      CHECK(worst_error(x, [&](std::int64_t i) { return before[i] + bias[i % cols]; }) == 0);
    }
  });
}

TEST_CASE_TEMPLATE("elementwise: exp and log are within 2 units in the last place", T, float, double) {
  const std::int64_t n = 100001;
  const double limit = std::is_same_v<T, float> ? 86 : 707;  // nothing subnormal
  Array<T> x(n), positive(n);
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<T>(limit * (2.0 * i / (n - 1) - 1));
    positive[i] = i % 2 ? std::exp(x[i]) : static_cast<T>(1 + 2.0 * (i - n / 2) / n * 0.9);
  }
  for_each_simd_target([&] {
    Array<T> y(n);
    exp_forward<T>(y, x, n);
    CHECK(worst_ulps(y, [&](std::int64_t i) { return std::exp(static_cast<long double>(x[i])); }) <= 2);
    log_forward<T>(y, positive, n);
    CHECK(worst_ulps(y, [&](std::int64_t i) { return std::log(static_cast<long double>(positive[i])); }) <= 2);
  });
}

TEST_CASE_TEMPLATE("elementwise: exp, log and sqrt of very large, very small and special numbers", T, float, double) {
  using Limits = std::numeric_limits<T>;
  const T infinity = Limits::infinity(), nan = Limits::quiet_NaN(), log_max = std::log(Limits::max());
  for_each_simd_target([&] {
    const auto check = [](auto kernel, T x, T expected) {
      CAPTURE(x);
      T y = 0;
      kernel(&y, &x, 1);
      CHECK(difference(y, expected) <= 4 * Limits::epsilon() * std::abs(std::isfinite(expected) ? expected : T{0}));
    };
    check(exp_forward<T>, -infinity, 0);
    check(exp_forward<T>, infinity, infinity);
    check(exp_forward<T>, nan, nan);
    check(exp_forward<T>, 0, 1);
    check(exp_forward<T>, -0.0, 1);
    check(exp_forward<T>, Limits::lowest(), 0);
    check(exp_forward<T>, Limits::max(), infinity);
    check(exp_forward<T>, log_max * (1 + 2 * Limits::epsilon()), infinity);
    check(exp_forward<T>, log_max * (1 - 2 * Limits::epsilon()), std::exp(log_max * (1 - 2 * Limits::epsilon())));
    check(log_forward<T>, 0, -infinity);
    check(log_forward<T>, -0.0, -infinity);
    check(log_forward<T>, -1, nan);
    check(log_forward<T>, -infinity, nan);
    check(log_forward<T>, infinity, infinity);
    check(log_forward<T>, nan, nan);
    check(log_forward<T>, 1, 0);
    check(log_forward<T>, Limits::min(), std::log(Limits::min()));
    check(log_forward<T>, Limits::denorm_min(), std::log(Limits::denorm_min()));
    check(log_forward<T>, Limits::max(), log_max);
    check(sqrt_forward<T>, -1, nan);
    check(sqrt_forward<T>, infinity, infinity);
  });
}

TEST_CASE_TEMPLATE("elementwise: the same bits for any number of threads and at any place", T, float, double) {
  const std::int64_t n = 3 * kGrain + 5;
  const Array<T> a = random_array<T>(n, 1), b = random_array<T>(n, 2, 0.5, 3);
  for_each_simd_target([&] {
    check_same_for_any_thread_count([&] {
      Array<T> out = a;
      mul<T>(out, a, b, 1, n);
      div<T>(out, a, b, 0.5, n);
      axpby<T>(out, 0.3, b, 0.7, n);
      exp_forward<T>(out, out, n);
      log_forward<T>(out, out, n);
      add_bias<T>(out, b, 5, n / 5);
      return out;
    });
    const Array<T> x = random_array<T>(70, 3, 0.1, 5);
    check_position_does_not_matter(x, exp_forward<T>);
    check_position_does_not_matter(x, log_forward<T>);
    check_position_does_not_matter(x, [](T* y, const T* x, std::int64_t n) { axpby(y, T{0.3}, x, T{0}, n); });
  });
}
