#include "autograd/kernels/optim/sgd.h"

#include <doctest/doctest.h>

#include "tests/kernels/decay_parts.h"
#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

// The update as PyTorch's SGD writes it, in double.
void reference_step(double& w, double& v, double grad, const SgdStep& s, const DecayPart& part) {
  const double g = s.gradient_scale * grad + part.weight_decay * w;
  v = s.momentum * v + g;
  w -= s.lr * part.rate * (s.nesterov ? g + s.momentum * v : v);
}

template <class T>
void check_steps(std::int64_t n, const SgdStep& step, double tolerance) {
  CAPTURE(n);
  CAPTURE(step.momentum);
  CAPTURE(step.nesterov);
  Array<T> w = random_array<T>(n, 1), v(n, 0);
  Array<double> expected_w(n), expected_v(n, 0);
  for (std::int64_t i = 0; i < n; ++i) expected_w[i] = w[i];
  const auto parts = parts_of(n);
  for (int k = 0; k < 5; ++k) {
    const Array<T> grad = random_array<T>(n, 10 + k, -0.1, 0.1);
    sgd<T>(w, step.momentum != 0 ? v.data() : nullptr, grad, step, parts);
    for_each_decay(parts, 0, n, [&](std::int64_t begin, std::int64_t end, const DecayPart& part) {
      for (std::int64_t i = begin; i < end; ++i) {
        reference_step(expected_w[i], expected_v[i], grad[i], step, part);
      }
    });
  }
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    // Relative to the terms they are made of: they can cancel.
    worst = std::max(worst, difference(w[i], expected_w[i]) / std::max(std::abs(expected_w[i]), 0.1));
    if (step.momentum != 0) worst = std::max(worst, difference(v[i], expected_v[i]) / std::max(std::abs(v[i]), T(0.1)));
  }
  CHECK(worst <= tolerance);
}

}  // namespace

TEST_CASE_TEMPLATE("sgd: agrees with PyTorch's formula in double", T, float, double) {
  constexpr double kTolerance = std::is_same_v<T, float> ? 2e-6 : 1e-13;
  for_each_simd_target([] {
    for (std::int64_t n : test_sizes()) check_steps<T>(n, {0.01, 0.9, false, 0.7}, kTolerance);
    check_steps<T>(1000, {0.01, 0.9, true, 0.7}, kTolerance);
    check_steps<T>(1000, {0.01, 0, false, 1}, kTolerance);
  });
}

TEST_CASE_TEMPLATE("sgd: the same bits for any number of threads", T, float, double) {
  const std::int64_t n = 3 * kGrain + 5;
  for_each_simd_target([&] {
    check_same_for_any_thread_count([&] {
      Array<T> w = random_array<T>(n, 1), v = random_array<T>(n, 2);
      const Array<T> grad = random_array<T>(n, 3);
      sgd<T>(w, v, grad, {0.01, 0.9, true, 0.7}, parts_of(n));
      Array<T> all(2 * n);
      std::copy(w.data(), w.data() + n, all.data());
      std::copy(v.data(), v.data() + n, all.data() + n);
      return all;
    });
  });
}
