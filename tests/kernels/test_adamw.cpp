#include "autograd/kernels/optim/adamw.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/kernels/decay_parts.h"
#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

template <class T>
struct State {
  Array<T> w, m, v, grad;
};

template <class T>
State<T> start(std::int64_t n) {
  return {random_array<T>(n, 1), random_array<T>(n, 2, -0.01, 0.01), random_array<T>(n, 3, 0, 1e-3),
          random_array<T>(n, 4, -0.1, 0.1)};
}

const DecayPart& part_of(std::int64_t i, const std::vector<DecayPart>& parts) {
  return *std::ranges::upper_bound(parts, i, {}, &DecayPart::end);
}

// The update as PyTorch's AdamW, or with l2 its Adam, writes it, in double.
void reference_step(double& w, double& m, double& v, double grad, const AdamWStep& s, const DecayPart& part) {
  const double lr = s.lr * part.rate;
  grad *= s.gradient_scale;
  if (s.l2) {
    grad += part.weight_decay * w;
  } else {
    w *= 1 - lr * part.weight_decay;
  }
  m = s.beta1 * m + (1 - s.beta1) * grad;
  v = s.beta2 * v + (1 - s.beta2) * grad * grad;
  const double correction1 = 1 - std::pow(s.beta1, s.step), correction2 = 1 - std::pow(s.beta2, s.step);
  w -= lr / correction1 * m / (std::sqrt(v) / std::sqrt(correction2) + s.eps);
}

// The largest relative errors of w, m and v over some steps with changing gradients.
template <class T>
void check_steps(std::int64_t n, std::int64_t first_step, int steps, double tolerance, bool l2 = false) {
  CAPTURE(n);
  CAPTURE(first_step);
  State<T> s = start<T>(n);
  Array<double> w(n), m(n), v(n);
  for (std::int64_t i = 0; i < n; ++i) w[i] = s.w[i], m[i] = s.m[i], v[i] = s.v[i];
  const auto parts = parts_of(n);
  for (int k = 0; k < steps; ++k) {
    const AdamWStep step{1e-3, 0.9, 0.98, 1e-9, 0.7, first_step + k, l2};
    s.grad = random_array<T>(n, 10 + k, -0.1, 0.1);
    adamw<T>(s.w, s.m, s.v, s.grad, step, parts);
    for (std::int64_t i = 0; i < n; ++i) reference_step(w[i], m[i], v[i], s.grad[i], step, part_of(i, parts));
  }
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    // The error is relative to the terms of the sum, because they can cancel.
    worst = std::max(worst, difference(s.w[i], w[i]) / std::max(std::abs(w[i]), 0.01));
    worst = std::max(worst, difference(s.m[i], m[i]) / std::max(std::abs(m[i]), 0.01));
    worst = std::max(worst, difference(s.v[i], v[i]) / v[i]);
  }
  CHECK(worst <= tolerance);
}

}  // namespace

TEST_CASE_TEMPLATE("adamw: values agree with PyTorch's formula in double", T, float, double) {
  constexpr bool kFloat = std::is_same_v<T, float>;
  for_each_simd_target([] {
    for (std::int64_t n : test_sizes()) check_steps<T>(n, 1, 1, kFloat ? 1e-6 : 1e-12);
    check_steps<T>(1000, 1, 20, kFloat ? 2e-6 : 1e-12);
    check_steps<T>(1000, 100000, 1, kFloat ? 1e-6 : 1e-12);
    check_steps<T>(1000, 1, 20, kFloat ? 2e-6 : 1e-12, true);
  });
}

TEST_CASE_TEMPLATE("adamw: a first step moves by the learning rate, decay alone shrinks", T, float, double) {
  Array<T> w(3, 1), m(3, 0), v(3, 0), grad(3, 0);
  grad[1] = 5, grad[2] = -1e-3;
  const DecayPart all{3, 0.5};
  adamw<T>(w, m, v, grad, {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-12, .gradient_scale = 1, .step = 1},
           {&all, 1});
  CHECK(w[0] == doctest::Approx(1 - 0.005));
  CHECK(w[1] == doctest::Approx(1 - 0.005 - 0.01));
  CHECK(w[2] == doctest::Approx(1 - 0.005 + 0.01));
}

TEST_CASE_TEMPLATE("adamw: the same bits for any number of threads", T, float, double) {
  const std::int64_t n = 3 * kGrain + 5;
  for_each_simd_target([&] {
    check_same_for_any_thread_count([&] {
      State<T> s = start<T>(n);
      adamw<T>(s.w, s.m, s.v, s.grad, {1e-3, 0.9, 0.98, 1e-9, 1, 3}, parts_of(n));
      Array<T> all(3 * n);
      std::copy(s.w.data(), s.w.data() + n, all.data());
      std::copy(s.m.data(), s.m.data() + n, all.data() + n);
      std::copy(s.v.data(), s.v.data() + n, all.data() + 2 * n);
      return all;
    });
  });
}
