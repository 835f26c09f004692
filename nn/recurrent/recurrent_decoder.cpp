#include "nn/recurrent/recurrent_decoder.h"

#include <array>

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

bool attends(const RecurrentDecoderConfig& config) { return config.score != AttentionScore::none; }

// Returns the width of the input that the decoder has in addition to the embedding: the context c_t (previous), r_{t−1}
// (current), or none (0).
std::int64_t extra_width(const RecurrentDecoderConfig& config) {
  if (!attends(config)) return 0;
  return config.order == AttentionOrder::previous ? config.stack.dim : config.stack.input_dim;
}

std::int64_t readout_input(const RecurrentDecoderConfig& config) {
  const std::int64_t embedding = config.order == AttentionOrder::previous ? config.stack.input_dim : 0;
  return config.stack.dim + embedding + (attends(config) ? config.stack.dim : 0);
}

// Repeats each row of x (B, width) `count` times: rows i·count … (i + 1)·count − 1 of the result are row i of x.
Variable repeat_rows(const Variable& x, std::int64_t count) {
  if (count == 1) return x;
  const std::int64_t rows = x.size(0), width = x.size(1);
  return reshape(expand(reshape(x, {rows, 1, width}), {rows, count, width}), {rows * count, width});
}

// Passes the attention weights of all steps, (B, Q, S) each, to an observer as those of one head: (R, 1, T, S), R =
// B·Q.
void show_weights(const TensorObserver& observer, std::span<const Variable> steps, std::int64_t rows) {
  Tape tape(no_grad);
  std::vector<Variable> times;
  for (const Variable& step : steps) {
    times.push_back(Variable::constant(tape, step.value().reshape({rows, 1, 1, step.size(2)})));
  }
  observer(kCrossAttentionWeights, [&] { return concat(times, 2).value(); });
}

}  // namespace

// Holds the tensors of a Memory, which outlive the tape. Empty before the first token.
class RecurrentDecoder::DecoderCache : public Cache {
 public:
  void clear() override { states_.clear(), keys_ = {}, readout_ = {}; }
  void select(std::span<const std::int64_t> rows) override {
    if (empty()) return;
    if (keys_.defined()) {
      keys_ = select_rows(keys_, selected_sources(rows, states_.layers.front().h.size(0) / keys_.size(0)));
    }
    states_.select(rows);
    if (readout_.defined()) {
      const std::int64_t width = readout_.size(2);
      readout_ = select_rows(readout_.reshape({-1, width}), rows).reshape({1, std::ssize(rows), width});
    }
  }
  NamedTensors tensors() const override {
    NamedTensors named = states_.tensors();
    if (keys_.defined()) named.emplace_back("keys", keys_);
    if (readout_.defined()) named.emplace_back("readout", readout_);
    return named;
  }

  void keep(const Memory& memory) {
    clear();
    for (const RecurrentStates& layer : memory.layers) states_.layers.push_back({layer.h.value(), layer.c.value()});
    keys_ = memory.keys.value(), readout_ = memory.readout.value();
  }
  Memory on(Tape& tape) const {
    const auto constant = [&](const Tensor& x) { return x.defined() ? Variable::constant(tape, x) : Variable(); };
    Memory memory{.layers = {}, .keys = constant(keys_), .readout = constant(readout_)};
    for (const auto& [h, c] : states_.layers) memory.layers.push_back({constant(h), constant(c)});
    return memory;
  }
  bool empty() const { return states_.layers.empty(); }

 private:
  RecurrentState states_;
  Tensor keys_, readout_;
};

RecurrentDecoder::RecurrentDecoder(const RecurrentDecoderConfig& config)
    : config_(config),
      dropout_(config.stack.dropout),
      readout_(readout_input(config), config.stack.input_dim, /*with_bias=*/true, Init::xavier_uniform(),
               config.stack.dtype) {
  const RecurrentConfig& stack = config.stack;
  if (attends(config)) {
    attention_ = std::make_unique<RecurrentAttention>(config.score, stack.dim, stack.dtype);
    register_module("attention", *attention_);
  }
  for (std::int64_t i = 0; i < stack.layers; ++i) {
    const std::int64_t in = i == 0 ? stack.input_dim + extra_width(config) : stack.dim;
    // readouts() cuts a matrix of the first layer in two parts, and a matrix in blocks cannot be cut.
    const WeightFormat format = WeightFormatScope::current();
    const bool is_cut = i == 0 && attention_ && format == WeightFormat::q8_0;
    const WeightFormatScope scope(is_cut ? WeightFormat::bf16 : format);
    layers_.push_back(std::make_unique<RecurrentLayer>(stack, in));
    register_module(str_cat("layers.", i), *layers_.back());
  }
  register_module("readout", readout_);
}

std::unique_ptr<Cache> RecurrentDecoder::make_cache() { return std::make_unique<DecoderCache>(); }

RecurrentDecoder::Memory RecurrentDecoder::begin(std::int64_t rows, const EncoderOutput& source) const {
  const std::int64_t batch = source.hidden.size(0);
  const std::size_t each = config_.stack.cell == CellKind::lstm ? 2 : 1;
  check(source.initial.size() == each * layers_.size(), "recurrent decoder: the encoder's output has ",
        source.initial.size(), " initial states, expected ", each * layers_.size());
  check(rows % batch == 0, "recurrent decoder: ", rows, " rows cannot share ", batch, " encoded ones");
  Memory memory;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto initial = [&](std::size_t k) { return repeat_rows(source.initial[each * i + k], rows / batch); };
    memory.layers.push_back({initial(0), each == 2 ? initial(1) : Variable()});
  }
  if (attention_) memory.keys = attention_->keys(source.hidden);
  if (feeds()) {
    memory.readout = Variable::constant(*source.hidden.tape(),
                                        Tensor::zeros({1, rows, config_.stack.input_dim}, config_.stack.dtype));
  }
  return memory;
}

Variable RecurrentDecoder::attend(const Variable& states, const Variable& keys, const EncoderOutput& source,
                                  std::vector<Variable>* weights) const {
  // The rows that attend to the same source are joined into one sequence of queries.
  const Variable queries = reshape(states, {source.hidden.size(0), -1, config_.stack.dim});
  if (weights) weights->emplace_back();
  const Variable contexts = attention_->forward(queries, keys, source, weights ? &weights->back() : nullptr);
  return reshape(contexts, {1, -1, config_.stack.dim});
}

Variable RecurrentDecoder::run_layers(const Variable& input, Memory& memory) const {
  Variable states;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const RecurrentLayer& layer = *layers_[i];
    RecurrentStates& before = memory.layers[i];
    const RecurrentStates after =
        i == 0 ? layer.forward_input(input, before) : layer.forward(dropout_.forward(states), before);
    before = states_at(after, after.h.size(0) - 1);
    states = after.h;
  }
  return states;
}

Variable RecurrentDecoder::readouts(const Variable& x, const EncoderOutput& source, Memory& memory,
                                    std::vector<Variable>* weights) const {
  const bool previous = config_.order == AttentionOrder::previous;
  const RecurrentLayer& first = *layers_.front();
  const auto readout = [&](std::vector<Variable> parts) { return tanh(readout_.forward(concat(parts, -1))); };
  if (!attention_) {  // all steps are computed at once
    std::vector<Variable> parts{run_layers(linear(x, first.weight_ih, first.bias_ih), memory)};
    if (previous) parts.push_back(x);
    return readout(std::move(parts));
  }

  // The product of the first layer has two parts: one product for the embeddings of all steps, and one product per step
  // for the other input.
  const std::vector<Variable> matrices =
      split(first.weight_ih.on(*x.tape()), std::array{config_.stack.input_dim, extra_width(config_)}, 1);
  const Variable inputs = linear(x, matrices[0], first.bias_ih);
  std::vector<Variable> states, contexts, fed;
  for (const Variable& input : split(inputs, std::vector<std::int64_t>(x.size(0), 1), 0)) {
    if (previous) contexts.push_back(attend(memory.layers.back().h, memory.keys, source, weights));
    const Variable& extra = previous ? contexts.back() : memory.readout;
    states.push_back(run_layers(add(input, linear(extra, matrices[1], {})), memory));
    if (previous) continue;
    memory.readout = readout({states.back(), attend(states.back(), memory.keys, source, weights)});
    fed.push_back(memory.readout);
  }
  return previous ? readout({concat(states, 0), x, concat(contexts, 0)}) : concat(fed, 0);
}

Variable RecurrentDecoder::forward(const Variable& embeddings, const EncoderOutput& source, Cache* cache,
                                   std::vector<Variable>* weights) const {
  auto* const own = own_cache<DecoderCache>(cache, "recurrent decoder");
  Tape& tape = *embeddings.tape();
  check(!own || !tape.options().record, "recurrent decoder: a cache works without recording only");
  return call([&] {
    const Variable x = dropout_.forward(embeddings);
    Memory memory = own && !own->empty() ? own->on(tape) : begin(x.size(1), source);
    std::vector<Variable> observed;
    const TensorObserver* const observer = tape.options().observer;
    std::vector<Variable>* const seen = weights ? weights : observer ? &observed : nullptr;
    const Variable readout = readouts(x, source, memory, seen);
    if (observer && attention_) show_weights(*observer, *seen, x.size(1));
    if (own) own->keep(memory);
    return dropout_.forward(readout);
  });
}

}  // namespace tapeformer
