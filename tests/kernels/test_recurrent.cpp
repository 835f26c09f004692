#include "autograd/kernels/recurrent/recurrent.h"

#include <doctest/doctest.h>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// The arrays of one step, and the values of its outputs by the formulas of recurrent.h, a unit at a time in double.
template <class T>
struct Step {
  CellKind cell;
  std::int64_t rows, size, gates = gate_count(cell) * size, saved_size = saved_count(cell) * size;
  Array<T> x = random_array<T>(rows * gates, 1), hidden = random_array<T>(rows * gates, 2);
  Array<T> bias = random_array<T>(gates, 3);
  Array<T> h_before = random_array<T>(rows * size, 4), c_before = random_array<T>(rows * size, 5);
  Array<T> h{rows * size}, c{rows * size}, saved{rows * saved_size};
  bool lstm = cell == CellKind::lstm;

  void forward(const CellRows& shape) {
    cell_forward<T>(cell,
                    {.h = h,
                     .c = lstm ? c.data() : nullptr,
                     .saved = saved,
                     .x = x,
                     .hidden = hidden,
                     .bias = bias,
                     .h_before = h_before,
                     .c_before = lstm ? c_before.data() : nullptr},
                    shape);
  }
  // Gate k of unit i of all rows: the input's part, and that of the state.
  double from_x(std::int64_t i, int k) const { return x[i / size * gates + k * size + i % size]; }
  double from_h(std::int64_t i, int k) const {
    return double{hidden[i / size * gates + k * size + i % size]} + bias[k * size + i % size];
  }
  double expected_c(std::int64_t i) const {
    const auto gate = [&](int k) { return from_x(i, k) + from_h(i, k); };
    return logistic(gate(1)) * c_before[i] + logistic(gate(0)) * std::tanh(gate(2));
  }
  double expected_h(std::int64_t i) const {
    if (lstm) return logistic(from_x(i, 3) + from_h(i, 3)) * std::tanh(expected_c(i));
    if (cell == CellKind::tanh) return std::tanh(from_x(i, 0) + from_h(i, 0));
    const double r = logistic(from_x(i, 0) + from_h(i, 0)), z = logistic(from_x(i, 1) + from_h(i, 1));
    return (1 - z) * std::tanh(from_x(i, 2) + r * from_h(i, 2)) + z * h_before[i];
  }
};

constexpr CellKind kCells[] = {CellKind::lstm, CellKind::gru, CellKind::tanh};

}  // namespace

TEST_CASE_TEMPLATE("recurrent: states against plain loops in double, for every width and instruction set", T, float,
                   double) {
  for_each_simd_target([] {
    for (const CellKind cell : kCells) {
      for (const std::int64_t size : {1, 2, 3, 7, 8, 9, 16, 31, 65, 200}) {
        CAPTURE(size);
        Step<T> step{cell, 3, size};
        step.forward({3, size});
        CHECK(worst_error(step.h, [&](std::int64_t i) { return step.expected_h(i); }) <= 4 * kTolerance<T>);
        if (step.lstm) {
          CHECK(worst_error(step.c, [&](std::int64_t i) { return step.expected_c(i); }) <= 4 * kTolerance<T>);
        }
      }
    }
  });
}

TEST_CASE("recurrent: a padded row keeps its state and hands its gradient on") {
  constexpr std::int64_t kRows = 2, kSize = 5;
  const std::int32_t lengths[] = {3, 4};
  for (const CellKind cell : kCells) {
    Step<double> step{cell, kRows, kSize};
    const CellRows shape{kRows, kSize, 3, lengths};  // the first row ends before time 3
    step.forward(shape);
    for (std::int64_t i = 0; i < kSize; ++i) {
      CHECK(step.h[i] == step.h_before[i]);
      if (step.lstm) CHECK(step.c[i] == step.c_before[i]);
      CHECK(step.h[kSize + i] == doctest::Approx(step.expected_h(kSize + i)));
    }
    Array<double> dx(kRows * step.gates), dhidden(kRows * step.gates), dh(kRows * kSize, 0.5), dc(kRows * kSize, 0.25);
    const Array<double> dy(kRows * kSize, 2), dcell(kRows * kSize, 1);
    cell_backward<double>(cell,
                          {.dx = dx,
                           .dhidden = cell == CellKind::gru ? dhidden.data() : nullptr,
                           .dh = dh,
                           .dc = step.lstm ? dc.data() : nullptr,
                           .dy = dy,
                           .dcell = step.lstm ? dcell.data() : nullptr,
                           .saved = step.saved,
                           .h = step.h,
                           .c = step.lstm ? step.c.data() : nullptr,
                           .h_before = step.h_before,
                           .c_before = step.lstm ? step.c_before.data() : nullptr},
                          shape);
    for (std::int64_t i = 0; i < kSize; ++i) {
      CHECK(dh[i] == 2.5);
      if (step.lstm) CHECK(dc[i] == 1.25);
    }
    for (std::int64_t i = 0; i < step.gates; ++i) CHECK(dx[i] == 0);
    CHECK(dx[step.gates] != 0);
  }
}

TEST_CASE_TEMPLATE("recurrent: the same bits for any number of threads", T, float, double) {
  for_each_simd_target([&] {
    for (const CellKind cell : kCells) {
      check_same_for_any_thread_count([&] {
        Step<T> step{cell, 300, 65};
        step.forward({300, 65});
        return step.h;
      });
    }
  });
}
