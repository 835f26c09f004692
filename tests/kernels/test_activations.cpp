#include "autograd/kernels/elementwise/activations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/elementwise/softcap.h"
#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

using Real = long double;

// An activation with its value and slope in extended precision. The slope is a function of x, or of y where backward
// takes the output.
template <class T>
struct Activation {
  std::string name;
  void (*forward)(T*, const T*, std::int64_t);
  void (*backward)(T*, const T*, const T*, T, std::int64_t);
  Real (*value)(Real x);
  Real (*slope)(Real saved);
  bool saves_output = false;
};

constexpr Real kTwiceRoot = 1.59576912160573071176L;  // 2√(2/π)
Real logistic(Real x) { return 1 / (1 + std::exp(-x)); }
Real twice_u(Real x) { return kTwiceRoot * (x + 0.044715L * x * x * x); }
Real normal_density(Real x) { return std::exp(-x * x / 2) * 0.39894228040143267794L; }
Real normal_distribution(Real x) { return std::erfc(-x * 0.70710678118654752440L) / 2; }

Real relu(Real x) { return x > 0 ? x : 0; }
Real relu_slope(Real x) { return x > 0 ? 1 : 0; }
Real tanh_of(Real x) { return std::tanh(x); }
Real tanh_slope(Real y) { return 1 - y * y; }
Real sigmoid_slope(Real y) { return y * (1 - y); }
Real gelu(Real x) { return x * normal_distribution(x); }
Real gelu_slope(Real x) { return normal_distribution(x) + x * normal_density(x); }
Real gelu_tanh(Real x) { return x * logistic(twice_u(x)); }
Real gelu_tanh_slope(Real x) {
  const Real s = logistic(twice_u(x));
  return s + x * s * logistic(-twice_u(x)) * kTwiceRoot * (1 + 3 * 0.044715L * x * x);
}

constexpr double kCap = 2.5;
template <class T>
void softcap_forward(T* y, const T* x, std::int64_t n) {
  kernels::softcap_forward(y, x, static_cast<T>(kCap), n);
}
template <class T>
void softcap_backward(T* dx, const T* dy, const T* y, T beta, std::int64_t n) {
  kernels::softcap_backward(dx, dy, y, static_cast<T>(kCap), beta, n);
}
Real softcap(Real x) { return kCap * std::tanh(x / kCap); }
Real softcap_slope(Real y) { return 1 - y * y / (kCap * kCap); }

template <class T>
std::vector<Activation<T>> activations() {
  return {{"relu", relu_forward<T>, relu_backward<T>, relu, relu_slope},
          {"tanh", tanh_forward<T>, tanh_backward<T>, tanh_of, tanh_slope, true},
          {"sigmoid", sigmoid_forward<T>, sigmoid_backward<T>, logistic, sigmoid_slope, true},
          {"softcap", ::softcap_forward<T>, ::softcap_backward<T>, softcap, softcap_slope, true},
          {"gelu", gelu_forward<T>, gelu_backward<T>, gelu, gelu_slope},
          {"gelu_tanh", gelu_tanh_forward<T>, gelu_tanh_backward<T>, gelu_tanh, gelu_tanh_slope}};
}

// The square of relu by relu's kernel.
template <class T>
void relu_squared(T* y, const T* x, std::int64_t n) {
  relu_forward(y, x, n);
  for (std::int64_t i = 0; i < n; ++i) y[i] *= y[i];
}
template <class T>
void relu_squared_backward(T* dx, const T* dy, const T* x, T, std::int64_t n) {
  relu_forward(dx, x, n);
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * (2 * dx[i]);
}

// Calls f(activation) for each activation under each instruction set.
template <class T, class F>
void for_each_activation(const F& f) {
  for_each_simd_target([&] {
    for (const auto& activation : activations<T>()) {
      INFO(activation.name);
      f(activation);
    }
  });
}

}  // namespace

TEST_CASE_TEMPLATE("activations: values and slopes are as exact as promised over a dense range", T, float, double) {
  const std::int64_t n = 60001;
  Array<T> x(n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<T>((i - n / 2) * 1e-3 + 1e-6);
  const Array<T> ones(n, 1);
  for_each_activation<T>([&](const Activation<T>& activation) {
    Array<T> y(n), dx(n);
    activation.forward(y, x, n);
    const Array<T>& saved = activation.saves_output ? y : x;
    activation.backward(dx, ones, saved, 0, n);
    const auto value = [&](std::int64_t i) { return activation.value(x[i]); };
    const auto slope = [&](std::int64_t i) { return activation.slope(saved[i]); };
    if constexpr (std::is_same_v<T, float>) {
      CHECK(worst_ulps(y, value, 1e-7) <= 4);
      CHECK(worst_ulps(dx, slope, 1e-7) <= 4);
    } else {
      CHECK(worst_error(y, value) <= 1e-14);
      CHECK(worst_error(dx, slope) <= 1e-14);
    }
  });
}

TEST_CASE_TEMPLATE("activations: every length, in place, and with every beta", T, float, double) {
  for_each_activation<T>([](const Activation<T>& activation) {
    for (std::int64_t n : test_sizes()) {
      const Array<T> x = random_array<T>(n, 1, -6, 6), dy = random_array<T>(n, 2);
      Array<T> y = x;
      activation.forward(y, y, n);
      CHECK(worst_error(y, [&](std::int64_t i) { return activation.value(x[i]); }) <= kTolerance<T>);
      const Array<T>& saved = activation.saves_output ? y : x;
      check_accumulates<T>(
          n, [&](T* dx, T beta) { activation.backward(dx, dy, saved, beta, n); },
          [&](std::int64_t i) { return dy[i] * activation.slope(saved[i]); });
    }
  });
}

TEST_CASE_TEMPLATE("activations: infinities give the limits, NaN gives NaN", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T largest = std::numeric_limits<T>::max();
  for_each_activation<T>([&](const Activation<T>& activation) {
    const bool bounded = activation.saves_output;
    Array<T> x(5), y(5), dx(5);
    const Array<T> ones(5, 1);
    x[0] = -infinity, x[1] = infinity, x[2] = nan, x[3] = -largest, x[4] = largest;
    activation.forward(y, x, 5);
    CHECK(difference(y[0], activation.name == "tanh" ? -1 : activation.name == "softcap" ? -kCap : 0) < 1e-30);
    const T bound = activation.name == "softcap" ? kCap : 1;
    CHECK(y[1] == (bounded ? bound : infinity));
    CHECK(std::isnan(y[2]));
    CHECK(y[3] == y[0]);
    CHECK(y[4] == (bounded ? bound : largest));
    activation.backward(dx, ones, bounded ? y : x, 0, 5);
    const T right = bounded ? 0 : 1;
    CHECK(std::abs(dx[0]) < 1e-30);
    CHECK(dx[1] == right);
    CHECK((std::isnan(dx[2]) || activation.name == "relu"));
    CHECK(std::abs(dx[3]) < 1e-30);
    CHECK(dx[4] == right);
  });
}

TEST_CASE_TEMPLATE("activations: the same bits for any number of threads and at any place", T, float, double) {
  const std::int64_t n = 3 * kGrain + 5;
  const Array<T> x = random_array<T>(n, 3, -6, 6), dy = random_array<T>(n, 4);
  for_each_activation<T>([&](const Activation<T>& activation) {
    check_same_for_any_thread_count([&] {
      Array<T> dx = x;
      activation.forward(dx, x, n);
      activation.backward(dx, dy, x, 1, n);
      return dx;
    });
    check_position_does_not_matter(random_array<T>(70, 5, -6, 6), activation.forward);
  });
}

TEST_CASE_TEMPLATE("bias_activation: the same bits as separate kernels for the bias, the activation and its gradient",
                   T, float, double) {
  struct Case {
    ActivationKind kind;
    void (*forward)(T*, const T*, std::int64_t);
    void (*backward)(T*, const T*, const T*, T, std::int64_t);
  };
  const Case cases[] = {{ActivationKind::gelu, gelu_forward<T>, gelu_backward<T>},
                        {ActivationKind::gelu_tanh, gelu_tanh_forward<T>, gelu_tanh_backward<T>},
                        {ActivationKind::relu, relu_forward<T>, relu_backward<T>},
                        {ActivationKind::relu2, relu_squared<T>, relu_squared_backward<T>}};
  for_each_simd_target([&] {
    for (const Case& c : cases) {
      for (std::int64_t cols : {1, 7, 16, 45, 300}) {
        for (bool with_bias : {false, true}) {
          const std::int64_t rows = 130, n = rows * cols;
          const Array<T> x = random_array<T>(n, 1, -4, 4), dy = random_array<T>(n, 2), bias = random_array<T>(cols, 3);
          Array<T> sum = x, expected(n), expected_dx(n);
          if (with_bias) add_bias<T>(sum, bias, rows, cols);
          c.forward(expected, sum, n);
          c.backward(expected_dx, dy, sum, 0, n);
          Array<T> y(n), h = x, dx = dy;
          const T* const bias_or_null = with_bias ? bias.data() : nullptr;
          bias_activation_forward<T>(c.kind, y, x, bias_or_null, rows, cols);
          bias_activation_backward<T>(c.kind, h, dx, bias_or_null, rows, cols);
          CHECK(std::equal(y.data(), y.data() + n, expected.data()));
          CHECK(std::equal(h.data(), h.data() + n, expected.data()));
          CHECK(std::equal(dx.data(), dx.data() + n, expected_dx.data()));
        }
      }
    }
  });
}

TEST_CASE_TEMPLATE("gated_activation: values and gradients against separate kernels, and for any number of threads", T,
                   float, double) {
  for_each_simd_target([&] {
    for (ActivationKind kind : {ActivationKind::swiglu, ActivationKind::geglu}) {
      for (std::int64_t cols : {1, 7, 16, 45, 300}) {
        for (bool with_bias : {false, true}) {
          const std::int64_t rows = 130, n = rows * cols;
          const Array<T> x = random_array<T>(2 * n, 1, -4, 4), dy = random_array<T>(n, 2);
          const Array<T> bias = random_array<T>(2 * cols, 3);
          Array<T> sum = x, gate(n), up(n), act(n), slope(n);
          if (with_bias) add_bias<T>(sum, bias, rows, 2 * cols);
          for (std::int64_t i = 0; i < n; ++i) {
            gate[i] = sum[i / cols * 2 * cols + i % cols], up[i] = sum[i / cols * 2 * cols + cols + i % cols];
          }
          const Array<T> ones(n, T{1});
          if (kind == ActivationKind::geglu) {
            gelu_forward<T>(act, gate, n);
            gelu_backward<T>(slope, ones, gate, 0, n);
          } else {
            sigmoid_forward<T>(slope, gate, n);
            for (std::int64_t i = 0; i < n; ++i) {
              act[i] = gate[i] * slope[i];
              slope[i] = slope[i] + act[i] * (1 - slope[i]);
            }
          }
          const T* const bias_or_null = with_bias ? bias.data() : nullptr;
          Array<T> y(n), h = dy, dx = x;
          gated_activation_forward<T>(kind, y, x, bias_or_null, rows, cols);
          gated_activation_backward<T>(kind, dx, h, bias_or_null, rows, cols);
          CHECK(worst_error(y, [&](std::int64_t i) { return double{act[i]} * up[i]; }) <= kTolerance<T>);
          CHECK(std::equal(h.data(), h.data() + n, y.data()));
          const auto gradient = [&](std::int64_t i) {
            const std::int64_t row = i / (2 * cols), j = i % (2 * cols), at = row * cols + j % cols;
            return j < cols ? double{dy[at]} * up[at] * slope[at] : double{dy[at]} * act[at];
          };
          CHECK(worst_error(dx, gradient) <= kTolerance<T> * 4);
        }
      }
      check_same_for_any_thread_count([&] {
        const std::int64_t rows = 700, cols = 65;
        Array<T> dx = random_array<T>(2 * rows * cols, 1), h = random_array<T>(rows * cols, 2), y(rows * cols);
        gated_activation_forward<T>(kind, y, dx, nullptr, rows, cols);
        gated_activation_backward<T>(kind, dx, h, nullptr, rows, cols);
        Array<T> all(4 * rows * cols);
        std::copy(y.data(), y.data() + rows * cols, all.data());
        std::copy(h.data(), h.data() + rows * cols, &all[rows * cols]);
        std::copy(dx.data(), dx.data() + 2 * rows * cols, &all[2 * rows * cols]);
        return all;
      });
    }
  });
}
