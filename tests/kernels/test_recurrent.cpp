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
  Array<T> x = random_array<T>(rows * gates, 1), u = random_array<T>(rows * gates, 2);
  Array<T> bias = random_array<T>(gates, 3);
  Array<T> h_before = random_array<T>(rows * size, 4), c_before = random_array<T>(rows * size, 5);
  Array<T> h{rows * size}, c{rows * size}, saved{rows * saved_size};
  Array<T> dy = random_array<T>(rows * size, 6), dcell = random_array<T>(rows * size, 7);
  Array<T> dh = random_array<T>(rows * size, 8), dc = random_array<T>(rows * size, 9);
  Array<T> dh_in = dh, dc_in = dc, dx{rows * gates}, du{rows * gates};
  bool lstm = cell == CellKind::lstm;

  void forward(const CellRows& shape) {
    cell_forward<T>(cell,
                    {.h = h,
                     .c = lstm ? c.data() : nullptr,
                     .saved = saved,
                     .x = x,
                     .u = u,
                     .bias = bias,
                     .h_before = h_before,
                     .c_before = lstm ? c_before.data() : nullptr},
                    shape);
  }
  void backward(const CellRows& shape) {
    cell_backward<T>(cell,
                     {.dx = dx,
                      .du = cell == CellKind::gru ? du.data() : nullptr,
                      .dh = dh,
                      .dc = lstm ? dc.data() : nullptr,
                      .dy = dy,
                      .dcell = lstm ? dcell.data() : nullptr,
                      .saved = saved,
                      .h = h,
                      .c = lstm ? c.data() : nullptr,
                      .h_before = h_before,
                      .c_before = lstm ? c_before.data() : nullptr},
                     shape);
  }
  // What backward gives of Σ (dh + dy)·h_t + (dc + dcell)·c_t, by the chain rule in double: the gradient of gate k of
  // unit i, of the state before (apart from what flows through u), and of a gru's u.
  struct Gradients {
    double gates[4] = {}, candidate_u = 0, h_before = 0, c_before = 0;
  };
  Gradients expected_gradients(std::int64_t i) const {
    const double g = double{dh_in[i]} + dy[i];
    if (cell == CellKind::tanh) return {.gates = {g * (1 - expected_h(i) * expected_h(i))}};
    const auto both = [&](int k) { return from_x(i, k) + from_h(i, k); };
    if (lstm) {
      const double in = logistic(both(0)), forget = logistic(both(1)), cand = std::tanh(both(2)),
                   out = logistic(both(3));
      const double tanh_c = std::tanh(expected_c(i));
      const double dc_all = double{dc_in[i]} + dcell[i] + g * out * (1 - tanh_c * tanh_c);
      return {.gates = {dc_all * cand * in * (1 - in), dc_all * c_before[i] * forget * (1 - forget),
                        dc_all * in * (1 - cand * cand), g * tanh_c * out * (1 - out)},
              .c_before = dc_all * forget};
    }
    const double r = logistic(both(0)), z = logistic(both(1)), q = from_h(i, 2), n = std::tanh(from_x(i, 2) + r * q);
    const double dn = g * (1 - z) * (1 - n * n);
    return {.gates = {dn * q * r * (1 - r), g * (h_before[i] - n) * z * (1 - z), dn},
            .candidate_u = dn * r,
            .h_before = g * z};
  }
  // Gate k of unit i of all rows: the input's part, and that of the state.
  double from_x(std::int64_t i, int k) const { return x[i / size * gates + k * size + i % size]; }
  double from_h(std::int64_t i, int k) const {
    return double{u[i / size * gates + k * size + i % size]} + bias[k * size + i % size];
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

TEST_CASE_TEMPLATE("recurrent: gradients against the chain rule in double, for every width and instruction set", T,
                   float, double) {
  for_each_simd_target([] {
    for (const CellKind cell : kCells) {
      for (const std::int64_t size : {1, 3, 8, 31, 65}) {
        CAPTURE(size);
        Step<T> step{cell, 3, size};
        step.forward({3, size});
        step.backward({3, size});
        const int gates = static_cast<int>(gate_count(cell));
        const auto close = [](double got, double expected) {
          return std::abs(got - expected) <= 64 * kTolerance<T> * std::max(1.0, std::abs(expected));
        };
        int wrong = 0;
        for (std::int64_t i = 0; i < 3 * size; ++i) {
          const auto expected = step.expected_gradients(i);
          for (int k = 0; k < gates; ++k) {
            const std::int64_t at = i / size * step.gates + k * size + i % size;
            wrong += !close(step.dx[at], expected.gates[k]);
            if (cell == CellKind::gru) wrong += !close(step.du[at], k == 2 ? expected.candidate_u : expected.gates[k]);
          }
          wrong += !close(step.dh[i], expected.h_before);
          if (step.lstm) wrong += !close(step.dc[i], expected.c_before);
        }
        CHECK(wrong == 0);
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
    step.backward(shape);
    for (std::int64_t i = 0; i < kSize; ++i) {
      CHECK(step.dh[i] == step.dh_in[i] + step.dy[i]);
      if (step.lstm) CHECK(step.dc[i] == step.dc_in[i] + step.dcell[i]);
    }
    for (std::int64_t i = 0; i < step.gates; ++i) CHECK(step.dx[i] == 0);
    CHECK(step.dx[step.gates] != 0);
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
      check_same_for_any_thread_count([&] {
        Step<T> step{cell, 300, 65};
        step.forward({300, 65});
        step.backward({300, 65});
        return step.dx;
      });
    }
  });
}
