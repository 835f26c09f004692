#include "nn/block.h"

#include "autograd/ops/ops.h"

namespace tapeformer {

FeedForward::FeedForward(const BlockConfig& config)
    : up(config.dim, config.ff_dim, config.bias, config.init, config.dtype),
      down(config.ff_dim, config.dim, config.bias, config.residual_init, config.dtype),
      activation_(config.activation) {
  register_module("up", up);
  register_module("down", down);
}

Variable FeedForward::forward(const Variable& x) const {
  const Variable hidden = up.forward(x);
  switch (activation_) {
    case ActivationKind::gelu:
      return down.forward(gelu(hidden));
    case ActivationKind::gelu_tanh:
      return down.forward(gelu_tanh(hidden));
    case ActivationKind::relu:
      return down.forward(relu(hidden));
  }
  fail("feed-forward: unknown activation");
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
  if (norm_place_ == NormPlace::pre) return add(x, dropout_.forward(sub(norm.forward(x))));
  return norm.forward(add(x, dropout_.forward(sub(x))));
}

Variable Block::forward(const Variable& x, KeyValueCache* cache) const {
  const Variable attended = residual(x, attention_norm, [&](const Variable& y) { return attention.forward(y, cache); });
  return residual(attended, feed_forward_norm, [&](const Variable& y) { return feed_forward.forward(y); });
}

}  // namespace tapeformer
