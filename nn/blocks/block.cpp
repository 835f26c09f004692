#include "nn/blocks/block.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/tape/recompute.h"
#include "autograd/tape/tape.h"
#include "nn/attention/documents.h"

namespace tapeformer {

FeedForward::FeedForward(const BlockConfig& config)
    : up(config.dim, is_gated(config.activation) ? 2 * config.ff_dim : config.ff_dim, config.bias.feed_forward,
         config.init, config.dtype,
         is_gated(config.activation) ? ParameterRole::stacked({config.ff_dim, config.ff_dim}) : ParameterKind::matrix),
      down(config.ff_dim, config.dim, config.bias.feed_forward, config.residual_init, config.dtype),
      activation_(config.activation) {
  register_module(is_gated(activation_) ? "gate_up" : "up", up);
  register_module("down", down);
}

Variable FeedForward::forward(Variable x) const {
  return call([&] {
    if (up.has_adapter() || down.has_adapter()) return down.forward(activate(up.forward(x), activation_));
    if (!up.has_hooks() && !down.has_hooks()) {
      return feed_forward(std::move(x), {up.weight, up.bias, down.weight, down.bias}, activation_);
    }
    // The two parts of feed_forward() run one after the other, so that the hooks of both layers see their outputs. The
    // second part overwrites its input, which a hook may have kept, so it gets a copy.
    const Variable u = scale(up.forward(x), 1);
    return down.call([&] { return feed_forward_output(u, {{}, {}, down.weight, down.bias}, activation_); });
  });
}

Block::Block(const BlockConfig& config, bool cross)
    : attention_norm_(make_norm(config)),
      attention_(config),
      norm_place_(config.norm),
      residual_(config.residual),
      dropout_(config.dropout) {
  const auto register_norm = [&](const char* name, const std::unique_ptr<Norm>& norm) {
    if (norm) register_module(name, *norm);
  };
  register_norm("attention_norm", attention_norm_);
  register_module("attention", attention_);
  if (cross) {
    cross_attention_norm_ = make_norm(config);
    cross_attention_ = std::make_unique<CrossAttention>(config);
    register_norm("cross_attention_norm", cross_attention_norm_);
    register_module("cross_attention", *cross_attention_);
  }
  if (config.feed_forward == FeedForwardKind::none) return;
  feed_forward_norm_ = make_norm(config);
  feed_forward_ = std::make_unique<FeedForward>(config);
  register_norm("feed_forward_norm", feed_forward_norm_);
  register_module("feed_forward", *feed_forward_);
}

template <class Sub>
Variable Block::sublayer(const Variable& x, const std::unique_ptr<Norm>& norm, const Tensor& lengths,
                         const Sub& sub) const {
  const bool pre = norm_place_ == NormPlace::pre;
  Variable y = dropout_.forward(sub(pre ? normalize(norm, x, lengths) : x));
  if (residual_) y = add(x, y);
  return pre ? y : normalize(norm, y, lengths);
}

Variable Block::forward(const Variable& in, const BlockContext& context, BlockCache* cache) const {
  return call([&] { return run(in, context, cache); });
}

Variable Block::run(const Variable& in, const BlockContext& context, BlockCache* cache) const {
  Variable x = sublayer(in, attention_norm_, context.lengths, [&](Variable y) {
    return attention_.forward(std::move(y), context.mask, cache ? &cache->self : nullptr, context.rotation,
                              context.first_values, cache ? &cache->linear : nullptr);
  });
  if (cross_attention_) {
    check(context.encoded.has_value(), "block: cross-attention needs an encoder's result");
    x = sublayer(x, cross_attention_norm_, context.lengths, [&](Variable y) {
      return cross_attention_->forward(std::move(y), *context.encoded, cache ? &cache->cross : nullptr);
    });
  }
  if (!feed_forward_) return x;
  return sublayer(x, feed_forward_norm_, context.lengths,
                  [&](Variable y) { return feed_forward_->forward(std::move(y)); });
}

void StackCache::clear() {
  for (BlockCache& block : blocks) block.self.clear(), block.cross.clear(), block.linear.clear();
}

void StackCache::select(std::span<const std::int64_t> rows) {
  for (BlockCache& block : blocks) {
    if (block.cross.length() > 0) {
      const Tensor own = block.linear.length() > 0 ? block.linear.sums() : block.self.keys();
      block.cross.select(selected_sources(rows, own.size(0) / block.cross.keys().size(0)));
    }
    block.self.select(rows), block.linear.select(rows);
  }
}

NamedTensors StackCache::tensors() const {
  NamedTensors named;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto add_those_of = [&](const char* name, const KeyValueCache& cache) {
      if (cache.length() == 0) return;
      named.emplace_back(str_cat("blocks.", i, '.', name, ".keys"), cache.keys());
      named.emplace_back(str_cat("blocks.", i, '.', name, ".values"), cache.values());
    };
    if (blocks[i].linear.length() > 0)
      named.emplace_back(str_cat("blocks.", i, ".linear.sums"), blocks[i].linear.sums());
    add_those_of("self", blocks[i].self), add_those_of("cross", blocks[i].cross);
  }
  return named;
}

BlockStack::BlockStack(const BlockConfig& config, std::int64_t layers, const PositionConfig& position, bool cross)
    : attention_window_(config.attention_window), head_dim_(head_dim(config)), value_residual_(config.value_residual) {
  if (const auto* const rotary = std::get_if<Rotary>(&position)) rotary_ = *rotary;
  BlockConfig block = config;
  if (block.residual && block.residual_init.kind == Init::Kind::normal) {
    const std::int64_t additions = 1 + (cross ? 1 : 0) + (block.feed_forward == FeedForwardKind::none ? 0 : 1);
    block.residual_init.value /= std::sqrt(static_cast<double>(additions * layers));
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    block.value_residual = value_residual_ && i > 0;
    blocks_.push_back(std::make_unique<Block>(block, cross));
    register_module(str_cat("blocks.", i), *blocks_.back());
  }
  if (config.final_norm.value_or(config.norm == NormPlace::pre)) final_norm_ = make_norm(config);
  if (final_norm_) register_module("final_norm", *final_norm_);
}

Variable BlockStack::forward(const Variable& in, const BlockContext& context, StackCache* cache,
                             std::vector<Variable>* layers) const {
  const Variable x = call([&] { return run(in, context, cache, layers); });
  if (layers) layers->back() = x;
  return x;
}

Variable BlockStack::run(const Variable& in, const BlockContext& given, StackCache* cache,
                         std::vector<Variable>* layers) const {
  check(!cache || cache->blocks.size() == blocks_.size(), "block stack: the cache is of ",
        cache ? cache->blocks.size() : 0, " blocks, expected ", blocks_.size());
  Variable x = in;
  BlockContext context = given;
  if (attention_window_ > 0 && context.mask.causal) {
    context.mask.key_begin = first_keys_of_window(x.size(0), x.size(1), cache ? cache->length() : 0, attention_window_,
                                                  context.mask.key_begin);
  }
  if (rotary_) context.rotation = rotation_of(context.positions, x.size(1), head_dim_, *rotary_, x.value().dtype());
  Variable first_values;
  show_features(x);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const bool keeps_values = value_residual_ && i == 0;
    context.first_values = {.values = first_values, .store_to = keeps_values ? &first_values : nullptr};
    const auto block = [module = blocks_[i].get(), context, own = cache ? &cache->blocks[i] : nullptr](
                           const Variable& y) { return module->forward(y, context, own); };
    // Backward begins with the last block, so recomputing its activations would hardly lower the peak of memory.
    const bool last = i + 1 == blocks_.size();
    x = last || keeps_values ? block(x) : recompute(block, x);
    show_features(x);
    if (last && final_norm_) x = final_norm_->forward_rows(x, context.lengths);
    if (layers) layers->push_back(x);
  }
  return x;
}

void BlockStack::show_features(const Variable& x) const {
  const TensorObserver* const observer = x.tape()->options().observer;
  if (observer) (*observer)(kLayerFeatures, [&] { return final_norm_ ? final_norm_->forward(x).value() : x.value(); });
}

std::unique_ptr<StackCache> BlockStack::make_cache(std::int64_t length, std::int64_t encoded_length) const {
  return std::make_unique<StackCache>(
      std::vector(blocks_.size(), BlockCache{KeyValueCache(length), KeyValueCache(encoded_length)}));
}

}  // namespace tapeformer
