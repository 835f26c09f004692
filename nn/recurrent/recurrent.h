// Recurrent layers, stacked, and language models made of them.
#pragma once

#include <memory>
#include <vector>

#include "autograd/ops/recurrent.h"
#include "core/keys.h"
#include "nn/interfaces/language_model.h"
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
  std::int64_t input_dim = 0, dim = 0;  // of the first layer's input, and of every layer's state
  double dropout = 0;                   // on what a layer hands to the next one; never on the way through time
  double forget_bias = 0;               // added to the initial bias of an LSTM's forget gate (Gers et al. 2000)
  bool residual = false;                // every layer but the first adds its input to its states
  DType dtype = DType::f32;
};

// One layer, with the parameters of torch.nn.LSTMCell, GRUCell or RNNCell: weight_ih (G·dim, in), weight_hh
// (G·dim, dim), bias_ih and bias_hh (G·dim), G gates in PyTorch's order. They begin uniform in ±1/√dim.
class RecurrentLayer : public Module {
 public:
  RecurrentLayer(const RecurrentConfig& config, std::int64_t in);
  // x (T, B, in) → the states at all times, from `before` (B, dim) on; undefined: zeros.
  RecurrentStates forward(const Variable& x, const RecurrentStates& before, bool reverse = false,
                          const Tensor& lengths = {}) const;
  // The same for input (T, B, G·dim) = x weight_ihᵀ + bias_ih, where the caller computes that itself.
  RecurrentStates forward_input(const Variable& input, const RecurrentStates& before, bool reverse = false,
                                const Tensor& lengths = {}) const;

  Variable weight_ih, weight_hh, bias_ih, bias_hh;

 private:
  CellKind cell_;
};

// The states (B, dim) at one of all times (T, B, dim).
RecurrentStates states_at(const RecurrentStates& states, std::int64_t time);

// What a stack of layers remembers of the tokens that it has read.
class RecurrentState : public LanguageState {
 public:
  struct Layer {
    Tensor h, c;  // (B, dim); c of an LSTM only
  };
  void clear() override { layers.clear(); }
  // h.LAYER and c.LAYER; nothing when no token was read. And the opposite.
  NamedTensors tensors() const;
  static RecurrentState from(const NamedTensors& tensors);

  std::vector<Layer> layers;  // empty when no token was read
};

// Layers on top of each other, each reading the states of the one below (Zaremba et al. 2014).
class RecurrentStack : public Module {
 public:
  explicit RecurrentStack(const RecurrentConfig& config);
  // x (T, B, input_dim) → the states of the last layer (T, B, dim). With a state, x continues what it has read, and it
  // reads x. No gradient flows into it. Throws Error when it is of another batch size or stack.
  Variable forward(const Variable& x, RecurrentState* state = nullptr) const;
  // The same of every layer, the first one's first. `reverse` and `lengths` are those of RecurrentOptions.
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

// A language model that can read a text in order, row after row: its state goes on from where the row before ended.
class RecurrentLanguageModel : public LanguageModel {
 public:
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  std::unique_ptr<LanguageState> make_state() const override { return std::make_unique<RecurrentState>(); }
  using LanguageModel::loss;
  // The loss of rows that continue those that the state has read; it reads these too. The gradient stops at their
  // beginning: truncated back-propagation through time.
  virtual Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options,
                        RecurrentState& state) const = 0;
};

}  // namespace tapeformer
