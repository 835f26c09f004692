#include "nn/block.h"

namespace tapeformer {

FeedForward::FeedForward(const BlockConfig& config)
    : up(config.dim, config.ff_dim, config.bias, config.init, config.dtype),
      down(config.ff_dim, config.dim, config.bias, config.residual_init, config.dtype),
      activation_(config.activation) {
  register_module("up", up);
  register_module("down", down);
}

Variable FeedForward::forward(const Variable& x, const NormWeights& norm) const {
  return tapeformer::feed_forward(x, norm, {up.weight, up.bias, down.weight, down.bias}, activation_);
}

Block::Block(const BlockConfig& config)
    : attention_norm(config.dim, config.bias, config.norm_eps, config.dtype),
      attention(config),
      feed_forward_norm(config.dim, config.bias, config.norm_eps, config.dtype),
      feed_forward(config),
      norm_place_(config.norm),
      dropout_(config.dropout) {
  register_module("attention_norm", attention_norm);
  register_module("attention", attention);
  register_module("feed_forward_norm", feed_forward_norm);
  register_module("feed_forward", feed_forward);
}

template <class Sub>
Variable Block::residual(const Variable& x, const LayerNorm& norm, const Sub& sub) const {
  if (norm_place_ == NormPlace::pre) return add(x, dropout_.forward(sub(x, norm.weights())));
  return norm.forward(add(x, dropout_.forward(sub(x, NormWeights()))));
}

Variable Block::forward(const Variable& x, KeyValueCache* cache) const {
  const auto attend = [&](const Variable& y, const NormWeights& norm) { return attention.forward(y, norm, cache); };
  const auto feed = [&](const Variable& y, const NormWeights& norm) { return feed_forward.forward(y, norm); };
  return residual(residual(x, attention_norm, attend), feed_forward_norm, feed);
}

}  // namespace tapeformer
