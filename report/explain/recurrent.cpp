// How far back a gradient reaches in recurrent layers.
#include "nn/recurrent/recurrent.h"
#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "core/random.h"
#include "report/explain/topics.h"

#include <cmath>

namespace tapeformer::explain {
namespace {

constexpr std::int64_t kSteps = 101, kRecurrentWidth = 64;

// Draws an input (kSteps, 1, kRecurrentWidth) that is a parameter, so that it has a gradient.
Variable drawn_steps() {
  RandomStream random({.seed = 1});
  const Tensor x = Tensor::zeros({kSteps, 1, kRecurrentWidth}, DType::f64);
  for (std::int64_t i = 0; i < x.sizes().product(); ++i) x.data<double>()[i] = random.normal();
  return Variable::parameter(x);
}

// Returns the norm of ∂L/∂x at each distance from the last step, divided by the norm at distance 0. L is the sum of the
// last state's squares.
std::vector<double> gradient_by_distance(CellKind cell, double forget_bias) {
  const RecurrentConfig config{.cell = cell,
                               .input_dim = kRecurrentWidth,
                               .dim = kRecurrentWidth,
                               .forget_bias = forget_bias,
                               .dtype = DType::f64};
  const RecurrentLayer layer(config, kRecurrentWidth);
  layer.initialize_parameters(1);
  const Variable x = drawn_steps();
  x.zero_grad();
  Tape tape;
  const Variable last = states_at(layer.forward(x.on(tape), {}), kSteps - 1).h;
  tape.backward(sum(mul(last, last)));
  const Tensor gradient = x.grad();
  std::vector<double> norms;
  for (std::int64_t step = kSteps; step-- > 0;) {
    double squares = 0;
    for (std::int64_t i = 0; i < kRecurrentWidth; ++i) {
      const double value = gradient.data<double>()[step * kRecurrentWidth + i];
      squares += value * value;
    }
    norms.push_back(std::sqrt(squares));
  }
  for (std::size_t i = norms.size(); i-- > 0;) norms[i] /= norms[0];
  return norms;
}

}  // namespace

WorkedExample explain_vanishing(const TopicOptions&) {
  WorkedExample out{"vanishing", "The gradient against distance"};
  out.formula("∂L/∂h_t = (∂h_T/∂h_{T−1} ⋯ ∂h_{t+1}/∂h_t)ᵀ ∂L/∂h_T");
  out.say(
      "A product of so many matrices vanishes where they are small, and explodes where they are large. Here are "
      "recurrent layers, 64 wide, with the values that training begins with. Each reads 101 random inputs; L is the "
      "sum of the last state's squares. Shown is the norm of the gradient at an input so many steps before the last "
      "one, as a share of that at the last one. An LSTM's cell keeps the share f of itself at each step, and f^100 = "
      "0.37 for a forget gate of 0.99, which a bias of 4.6 = ln 99 gives.");
  const std::pair<const char*, std::vector<double>> cells[] = {
      {"tanh", gradient_by_distance(CellKind::tanh, 0)},
      {"gru", gradient_by_distance(CellKind::gru, 0)},
      {"lstm, forget bias 1", gradient_by_distance(CellKind::lstm, 1)},
      {"lstm, forget bias 4.6", gradient_by_distance(CellKind::lstm, 4.6)}};
  CellTable table{"gradient", {"steps back"}, {}};
  Curves curves{"log10 of the gradient", "steps back", {}, {}};
  for (const auto& cell : cells) {
    table.columns.emplace_back(cell.first);
    curves.curves.push_back({cell.first, {}});
    for (const double norm : cell.second) curves.curves.back().y.push_back(std::log10(norm));
  }
  for (std::int64_t step = 0; step < kSteps; ++step) curves.x.push_back(static_cast<double>(step));
  for (const std::size_t step : {0, 1, 2, 5, 10, 20, 50, 100}) {
    std::vector<Cell> row{static_cast<std::int64_t>(step)};
    for (const auto& cell : cells) row.emplace_back(cell.second[step]);
    table.rows.push_back(std::move(row));
  }
  out.show(std::move(table));
  out.show(std::move(curves));
  return out;
}

}  // namespace tapeformer::explain
