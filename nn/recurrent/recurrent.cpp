#include "nn/recurrent/recurrent.h"

#include <algorithm>

#include "autograd/kernels/recurrent/recurrent.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

Variable constant_or_none(Tape& tape, const Tensor& tensor) {
  return tensor.defined() ? Variable::constant(tape, tensor) : Variable();
}

// Returns a copy of the last state (B, dim) of states (T, B, dim), which does not keep the memory of the others.
Tensor last_of(const Variable& states) {
  if (!states.defined()) return {};
  const std::int64_t steps = states.size(0);
  return states.value().slice(0, steps - 1, steps).reshape({states.size(1), states.size(2)}).clone();
}

}  // namespace

RecurrentLayer::RecurrentLayer(const RecurrentConfig& config, std::int64_t in) : cell_(config.cell) {
  const std::int64_t gates = kernels::gate_count(cell_) * config.dim;
  const ParameterRole role = ParameterRole::stacked(std::vector(kernels::gate_count(cell_), config.dim));
  const Init init = Init::uniform_fan_in(config.dim);
  Init input_bias = init;
  if (cell_ == CellKind::lstm) input_bias.shift = {config.dim, 2 * config.dim, config.forget_bias};
  weight_ih = register_matrix("weight_ih", {gates, in}, config.dtype, init, role);
  weight_hh = register_matrix("weight_hh", {gates, config.dim}, config.dtype, init, role);
  bias_ih = register_parameter("bias_ih", {gates}, config.dtype, input_bias);
  bias_hh = register_parameter("bias_hh", {gates}, config.dtype, init);
}

RecurrentStates RecurrentLayer::forward(const Variable& x, const RecurrentStates& initial, bool reverse,
                                        const Tensor& lengths) const {
  const detail::ModuleScope scope(*this);  // the input product also belongs to the layer
  return forward_input(linear(x, weight_ih, bias_ih), initial, reverse, lengths);
}

RecurrentStates RecurrentLayer::forward_input(const Variable& input, const RecurrentStates& initial, bool reverse,
                                              const Tensor& lengths) const {
  RecurrentStates states;
  states.h = call([&] {
    states = recurrent(input, initial.h, initial.c, weight_hh, bias_hh,
                       {.cell = cell_, .reverse = reverse, .lengths = lengths});
    return states.h;
  });
  return states;
}

RecurrentStates states_at(const RecurrentStates& states, std::int64_t time) {
  const auto at = [&](const Variable& x) {
    if (!x.defined()) return x;
    return reshape(x.size(0) == 1 ? x : slice(x, 0, time, time + 1), {x.size(1), x.size(2)});
  };
  return {at(states.h), at(states.c)};
}

void RecurrentState::select(std::span<const std::int64_t> rows) {
  for (Layer& layer : layers) {
    for (Tensor* const x : {&layer.h, &layer.c}) {
      if (x->defined()) *x = select_rows(*x, rows);
    }
  }
}

NamedTensors RecurrentState::tensors() const {
  NamedTensors named;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    named.emplace_back(str_cat("h.", i), layers[i].h);
    if (layers[i].c.defined()) named.emplace_back(str_cat("c.", i), layers[i].c);
  }
  return named;
}

RecurrentState RecurrentState::from(const NamedTensors& tensors) {
  RecurrentState state;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t layer = std::stoul(name.substr(2));
    state.layers.resize(std::max(state.layers.size(), layer + 1));
    (name.front() == 'h' ? state.layers[layer].h : state.layers[layer].c) = tensor;
  }
  return state;
}

RecurrentStack::RecurrentStack(const RecurrentConfig& config) : residual_(config.residual), dropout_(config.dropout) {
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(std::make_unique<RecurrentLayer>(config, i == 0 ? config.input_dim : config.dim));
    register_module(str_cat("layers.", i), *layers_.back());
  }
}

Variable RecurrentStack::forward(const Variable& x, RecurrentState* state) const {
  return read(x, {.state = state}).back();
}

std::vector<Variable> RecurrentStack::layer_states(const Variable& x, bool reverse, const Tensor& lengths) const {
  return read(x, {.reverse = reverse, .lengths = lengths});
}

std::vector<Variable> RecurrentStack::read(const Variable& x, const Reading& reading) const {
  RecurrentState* const state = reading.state;
  const std::size_t count = layers_.size();
  const bool continues = state && !state->layers.empty();
  check(!continues || state->layers.size() == count, "recurrent stack: the state is of ",
        continues ? state->layers.size() : 0, " layers, expected ", count);
  if (state && !continues) state->layers.resize(count);
  std::vector<Variable> outputs;
  const Variable last = call([&] {
    for (std::size_t i = 0; i < count; ++i) {
      RecurrentStates initial;
      if (continues) {
        initial = {constant_or_none(*x.tape(), state->layers[i].h), constant_or_none(*x.tape(), state->layers[i].c)};
      }
      const Variable in = i == 0 ? x : dropout_.forward(outputs.back());
      const RecurrentStates states = layers_[i]->forward(in, initial, reading.reverse, reading.lengths);
      if (state) state->layers[i] = {last_of(states.h), last_of(states.c)};
      outputs.push_back(residual_ && i > 0 ? add(states.h, in) : states.h);
    }
    return outputs.back();
  });
  outputs.back() = last;
  return outputs;
}

}  // namespace tapeformer
