// Recurrent layers, stacks of them, and the interface of recurrent causal models.
#pragma once

#include <memory>
#include <vector>

#include "autograd/ops/recurrent.h"
#include "core/keys.h"
#include "nn/interfaces/causal_model.h"
#include "nn/layers/layers.h"

namespace tapeformer {

template <>
struct Words<CellKind> {
  static constexpr std::pair<CellKind, std::string_view> list[] = {
      {CellKind::lstm, "lstm"}, {CellKind::gru, "gru"}, {CellKind::tanh, "tanh"}};
};

struct RecurrentConfig {
  CellKind cell = CellKind::lstm;
  std::int64_t layers = 1;
  std::int64_t input_dim = 0, dim = 0;  // width of the first layer's input, and of every layer's state
  double dropout = 0;                   // between layers, never between time steps
  double forget_bias = 0;               // added to the initial bias of an LSTM's forget gate (Gers et al. 2000)
  bool residual = false;                // every layer except the first adds its input to its states
  DType dtype = DType::f32;
};

// One layer, with the parameters of torch.nn.LSTMCell, GRUCell or RNNCell: weight_ih (G·dim, in), weight_hh (G·dim,
// dim), bias_ih and bias_hh (G·dim), G gates in PyTorch's order. The initial values are uniform in ±1/√dim.
class RecurrentLayer : public Module {
 public:
  RecurrentLayer(const RecurrentConfig& config, std::int64_t in);
  // x (T, B, in) → the states at all times (T, B, dim). `initial` is the state (B, dim) before the first time step;
  // undefined: zeros. `reverse` and `lengths` are those of RecurrentOptions.
  RecurrentStates forward(const Variable& x, const RecurrentStates& initial, bool reverse = false,
                          const Tensor& lengths = {}) const;
  // Does the same for input (T, B, G·dim) = x weight_ihᵀ + bias_ih, which the caller has computed.
  RecurrentStates forward_input(const Variable& input, const RecurrentStates& initial, bool reverse = false,
                                const Tensor& lengths = {}) const;

  Variable weight_ih, weight_hh, bias_ih, bias_hh;

 private:
  CellKind cell_;
};

// Returns the states (B, dim) at one time of states (T, B, dim).
RecurrentStates states_at(const RecurrentStates& states, std::int64_t time);

// The states of all layers of a stack after the tokens that it has read.
class RecurrentState : public Cache {
 public:
  struct Layer {
    Tensor h, c;  // (B, dim); c only for an LSTM
  };
  void clear() override { layers.clear(); }
  void select(std::span<const std::int64_t> rows) override;
  // Returns h.LAYER and c.LAYER for each layer. from() is the inverse.
  NamedTensors tensors() const override;
  static RecurrentState from(const NamedTensors& tensors);

  std::vector<Layer> layers;  // empty if no token was read
};

// A stack of layers, each of which reads the states of the layer below (Zaremba et al. 2014).
class RecurrentStack : public Module {
 public:
  explicit RecurrentStack(const RecurrentConfig& config);
  // x (T, B, input_dim) → the states of the last layer (T, B, dim). With a state, x continues the tokens that the state
  // has read and is added to it. No gradient flows into the state. Throws Error if the state has another batch size or
  // belongs to another stack.
  Variable forward(const Variable& x, RecurrentState* state = nullptr) const;
  // Returns the states of every layer, from the first to the last. `reverse` and `lengths` are those of
  // RecurrentOptions.
  std::vector<Variable> layer_states(const Variable& x, bool reverse, const Tensor& lengths) const;

 private:
  struct Reading {
    RecurrentState* state = nullptr;
    bool reverse = false;
    Tensor lengths = {};
  };
  std::vector<Variable> read(const Variable& x, const Reading& reading) const;

  bool residual_;
  Dropout dropout_;
  std::vector<std::unique_ptr<RecurrentLayer>> layers_;
};

// A causal model that can read a long text in consecutive rows: its state continues from the end of the previous row.
class RecurrentModel : public CausalModel {
 public:
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  const RecurrentModel* recurrent() const override { return this; }
  std::unique_ptr<Cache> make_cache() const override { return std::make_unique<RecurrentState>(); }
  using CausalModel::loss;
  // Returns the loss of rows that continue those that the state has read, and updates the state. The gradient stops at
  // the beginning of the rows (truncated back-propagation through time).
  virtual Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options,
                        RecurrentState& state) const = 0;
};

}  // namespace tapeformer
