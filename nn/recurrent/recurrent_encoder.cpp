#include "nn/recurrent/recurrent_encoder.h"

#include "autograd/ops/views.h"

namespace tapeformer {

RecurrentEncoder::RecurrentEncoder(const RecurrentConfig& config, EncoderKind kind) : dropout_(config.dropout) {
  const bool bidirectional = kind == EncoderKind::bidirectional;
  check(!bidirectional || config.dim % 2 == 0, "recurrent encoder: dim is ", config.dim,
        ": expected an even width, half of it for each direction");
  RecurrentConfig layer = config;
  if (bidirectional) layer.dim /= 2;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::int64_t in = i == 0 ? config.input_dim : config.dim;
    forward_.push_back(std::make_unique<RecurrentLayer>(layer, in));
    register_module(str_cat("layers.", i, ".forward"), *forward_.back());
    if (!bidirectional) continue;
    backward_.push_back(std::make_unique<RecurrentLayer>(layer, in));
    register_module(str_cat("layers.", i, ".backward"), *backward_.back());
  }
}

RecurrentEncoder::Result RecurrentEncoder::forward(const Variable& x, const Tensor& lengths,
                                                   std::vector<Variable>* layers) const {
  Result result;
  const Variable hidden = call([&] {
    result = run(x, lengths, layers);
    return result.hidden;
  });
  result.hidden = hidden;
  if (layers) layers->back() = hidden;
  return result;
}

RecurrentEncoder::Result RecurrentEncoder::run(const Variable& x, const Tensor& lengths,
                                               std::vector<Variable>* layers) const {
  const std::size_t count = forward_.size();
  Result result;
  Variable below = x;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) below = dropout_.forward(below);
    const RecurrentStates forward = forward_[i]->forward(below, {}, false, lengths);
    std::vector<Variable> directions{forward.h};
    if (backward_.empty()) {
      result.last.push_back(states_at(forward, x.size(0) - 1));  // padding leaves the state of the last token as it is
    } else {
      const RecurrentStates backward = backward_[i]->forward(below, {}, true, lengths);
      result.last.push_back(states_at(backward, 0));
      directions.push_back(backward.h);
    }
    if (i + 1 < count) {
      below = directions.size() == 1 ? directions[0] : concat(directions, -1);
      if (layers) layers->push_back(transpose(below, 0, 1));
      continue;
    }
    for (Variable& states : directions) states = transpose(states, 0, 1);
    result.hidden = concat(directions, -1);  // contiguous as (B, S, dim)
    if (layers) layers->push_back(result.hidden);
  }
  return result;
}

}  // namespace tapeformer
