// Recurrent layers: against cells made of elementary ops, and how gradients flow through time.
#include <array>
#include <cmath>

#include "autograd/gradcheck/enumerators.h"
#include "autograd/ops/ops.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

using Inputs = std::span<const Variable>;

std::int64_t gates_of(CellKind cell) { return cell == CellKind::lstm ? 4 : cell == CellKind::gru ? 3 : 1; }

struct State {
  Variable h, c;
};

// One step of a cell: x and u (B, G·H) are the gates' parts from the input and from the state.
State step_of(CellKind cell, const Variable& x, const Variable& u, const State& before) {
  const std::vector<std::int64_t> sizes(gates_of(cell), x.size(1) / gates_of(cell));
  const std::vector<Variable> from_x = split(x, sizes, -1), from_u = split(u, sizes, -1);
  switch (cell) {
    case CellKind::lstm: {
      const auto gate = [&](int k) { return from_x[k] + from_u[k]; };
      const Variable c = sigmoid(gate(1)) * before.c + sigmoid(gate(0)) * tanh(gate(2));
      return {sigmoid(gate(3)) * tanh(c), c};
    }
    case CellKind::gru: {
      const Variable r = sigmoid(from_x[0] + from_u[0]), z = sigmoid(from_x[1] + from_u[1]);
      return {(1 + -z) * tanh(from_x[2] + r * from_u[2]) + z * before.h, {}};
    }
    case CellKind::tanh:
      return {tanh(x + u), {}};
  }
  return {};
}

Variable row_of(const Variable& x, std::int64_t t) { return reshape(slice(x, 0, t, t + 1), {x.size(1), x.size(2)}); }

// in: input (T, B, G·H), h0, weight, bias and, for an LSTM, c0; all states, of an LSTM h and c side by side.
Variable fused(Inputs in, const RecurrentOptions& options) {
  const bool lstm = options.cell == CellKind::lstm;
  const auto [h, c] = recurrent(in[0], in[1], lstm ? in[4] : Variable(), in[2], in[3], options);
  return lstm ? concat(std::array{h, c}, -1) : h;
}

Variable composite(Inputs in, const RecurrentOptions& options) {
  const bool lstm = options.cell == CellKind::lstm;
  const std::int64_t steps = in[0].size(0), batch = in[0].size(1), size = in[2].size(1);
  State state{in[1], lstm ? in[4] : Variable()};
  std::vector<Variable> places(steps);
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = options.reverse ? steps - 1 - i : i;
    const State next = step_of(options.cell, row_of(in[0], t), linear(state.h, in[2], in[3]), state);
    const Tensor active = Tensor::full({batch, 1}, DType::f64, 1);
    for (std::int64_t row = 0; options.lengths.defined() && row < batch; ++row) {
      active.data<double>()[row] = t < options.lengths.data<std::int32_t>()[row];
    }
    const Variable keep = Variable::constant(*in[0].tape(), active.to(in[0].dtype()));
    const auto choose = [&](const Variable& after, const Variable& before) {
      return keep * after + (1 + -keep) * before;
    };
    state = {choose(next.h, state.h), lstm ? choose(next.c, state.c) : Variable()};
    places[t] = reshape(lstm ? concat(std::array{state.h, state.c}, -1) : state.h, {1, batch, lstm ? 2 * size : size});
  }
  return concat(places, 0);
}

Variable zeros(Tape& tape, const Dims& sizes) { return Variable::constant(tape, Tensor::zeros(sizes, DType::f64)); }

// d(last place of y)/d(start) for scalar states.
double gradient_of_last(const Variable& y, const Variable& start) {
  y.tape()->backward(reshape(slice(y, 0, y.size(0) - 1, y.size(0)), {}));
  return start.grad().item();
}

}  // namespace

TEST_CASE("recurrent: every cell, in both directions, with and without padding, agrees with its elementary ops") {
  constexpr std::int64_t kSteps = 5, kBatch = 3, kSize = 11;
  for (const Enumerator<CellKind>& cell : enumerators<CellKind>()) {
    CAPTURE(cell.name);
    const std::int64_t gates = gates_of(cell.value) * kSize;
    std::vector<Tensor> inputs{random_normal({kSteps, kBatch, gates}, 1), random_normal({kBatch, kSize}, 2),
                               random_normal({gates, kSize}, 3), random_normal({gates}, 4)};
    if (cell.value == CellKind::lstm) inputs.push_back(random_normal({kBatch, kSize}, 5));
    for (const bool reverse : {false, true}) {
      for (const bool padded : {false, true}) {
        CAPTURE(reverse);
        CAPTURE(padded);
        RecurrentOptions options{.cell = cell.value, .reverse = reverse};
        if (padded) options.lengths = Tensor::from<std::int32_t>({3, 0, 5}, {kBatch});
        check_twins([&](Inputs in) { return fused(in, options); }, [&](Inputs in) { return composite(in, options); },
                    inputs);
      }
    }
  }
}

TEST_CASE("recurrent: without a backward to come the states are the same bits") {
  const Tensor input = random_normal({6, 2, 20}, 1), weight = random_normal({20, 5}, 2);
  const auto states = [&](bool record) {
    Tape tape({.record = record});
    const Variable x = Variable::constant(tape, input);
    return recurrent(x, {}, {}, Variable::parameter(weight), {}, {.cell = CellKind::lstm}).c.value();
  };
  CHECK(states(true).to_vector<double>() == states(false).to_vector<double>());
}

// With x = 0 and h_0 = 0 every tanh stands at 0, where its slope is 1: the layer is the linear one, h_t = a·h_{t−1}.
TEST_CASE("gradient flow: a linear recurrent layer gives a^T, which vanishes or explodes") {
  for (const double a : {0.9, 1.1}) {
    Tape tape;
    const Variable h0 = Variable::parameter(Tensor::zeros({1, 1}, DType::f64));
    const Variable w = Variable::constant(tape, Tensor::full({1, 1}, DType::f64, a));
    const Variable y = recurrent(zeros(tape, {100, 1, 1}), h0, {}, w, {}, {.cell = CellKind::tanh}).h;
    CHECK(gradient_of_last(y, h0) == doctest::Approx(std::pow(a, 100)).epsilon(1e-12));
  }
}

// f = 1 and W_hh = 0: c_t = c_{t−1} + i·g, so the gradient of the cell arrives as it left.
TEST_CASE("gradient flow: an LSTM whose forget gate is 1 carries the gradient of its cell through 100 steps") {
  Tape tape;
  const Variable c0 = Variable::parameter(Tensor::full({1, 1}, DType::f64, 0.3));
  const Variable input = Variable::constant(tape, random_normal({100, 1, 4}, 1));
  input.value().slice(2, 1, 2).copy_from(Tensor::full({100, 1, 1}, DType::f64, 50));  // the forget gate: σ(50) = 1
  const Variable cells = recurrent(input, {}, c0, zeros(tape, {4, 1}), {}, {.cell = CellKind::lstm}).c;
  CHECK(gradient_of_last(cells, c0) == 1);
}

TEST_CASE("errors: recurrent layers") {
  Tape tape(no_grad);
  const auto of = [&](const Dims& sizes) { return zeros(tape, sizes); };
  const auto run = [&](const Dims& input, const Dims& weight, const RecurrentOptions& options = {}) {
    return recurrent(of(input), {}, {}, of(weight), {}, options);
  };
  CHECK_THROWS_WITH_AS(run({3, 2, 8}, {8, 3}), "recurrent: weight is (8, 3): expected (4·H, H)", Error);
  CHECK_THROWS_WITH_AS(run({3, 2, 7}, {8, 2}),
                       "recurrent: input is (3, 2, 7), weight is (8, 2): expected input (T, B, 8)", Error);
  CHECK_THROWS_AS(run({0, 2, 8}, {8, 2}), Error);
  CHECK_THROWS_WITH_AS(recurrent(of({3, 2, 8}), {}, {}, of({8, 2}), of({6})),
                       "recurrent: weight is (8, 2), bias is (6): expected bias (8)", Error);
  CHECK_THROWS_WITH_AS(recurrent(of({3, 2, 8}), of({3, 2}), {}, of({8, 2}), {}),
                       "recurrent: h0 is (3, 2): expected (2, 2)", Error);
  CHECK_THROWS_WITH_AS(recurrent(of({3, 2, 6}), {}, of({2, 2}), of({6, 2}), {}, {.cell = CellKind::gru}),
                       "recurrent: c0 is (2, 2): expected none, since the cell is no LSTM", Error);
  CHECK_THROWS_WITH_AS(run({3, 2, 8}, {8, 2}, {.lengths = Tensor::from<std::int32_t>({1}, {1})}),
                       "recurrent: lengths are i32 (1): expected i32 (2)", Error);
  CHECK_THROWS_WITH_AS(run({3, 2, 8}, {8, 2}, {.lengths = Tensor::from<std::int32_t>({1, 4}, {2})}),
                       "recurrent: a length is 4: expected 0 to 3", Error);
}
