#include "nn/models/gpt.h"

#include <cmath>

#include "autograd/tape/recompute.h"
#include "autograd/tape/tape.h"

namespace tapeformer {

Gpt::Gpt(const GptConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.block.dim, config.block.init, config.block.dtype),
      positions_(config.position, config.context, config.block.dim, config.position_base, config.block.init,
                 config.block.dtype),
      dropout_(config.block.dropout) {
  register_module("token_embedding", token_embedding_);
  register_module("position_embedding", positions_);
  BlockConfig block = config.block;
  if (block.residual_init.kind == Init::Kind::normal) {
    block.residual_init.value /= std::sqrt(2.0 * static_cast<double>(config.layers));
  }
  for (std::int64_t i = 0; i < config.layers; ++i) {
    blocks_.push_back(std::make_unique<Block>(block));
    register_module(concat("blocks.", i), *blocks_.back());
  }
  if (block.norm == NormPlace::pre) {
    final_norm_ = std::make_unique<LayerNorm>(block.dim, block.bias, block.norm_eps, block.dtype);
    register_module("final_norm", *final_norm_);
  }
  if (config.tie_embeddings) {
    head_ = token_embedding_.weight;
    register_tied("head.weight", head_);
  } else {
    head_ = register_parameter("head.weight", {config.vocab, block.dim}, block.dtype, block.init);
  }
}

Variable Gpt::forward(const Variable& ids, GptCache* cache) const {
  check(ids.value().rank() == 2, "gpt: expected ids (B, T), got ", ids.sizes());
  const std::int64_t first = cache ? cache->front().length() : 0;
  const Variable positions = positions_.forward(*ids.tape(), first, ids.size(1));
  Variable x = dropout_.forward(add(token_embedding_.forward(ids), positions));  // (B, T, dim)
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto block = [module = blocks_[i].get(), layer = cache ? &(*cache)[i] : nullptr](const Variable& in) {
      return module->forward(in, layer);
    };
    // Backward begins with the last block: to drop its activations until then would hardly lower the peak.
    x = i + 1 < blocks_.size() ? recompute(block, x) : block(x);
  }
  return final_norm_ ? final_norm_->forward(x) : x;
}

Variable Gpt::logits(const Variable& hidden) const { return linear(hidden, head_, {}); }

Variable Gpt::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const {
  const Variable rows = reshape(forward(ids), {-1, config_.block.dim});
  const Variable flat_targets = Variable::constant(*ids.tape(), targets.value().reshape({-1}));
  return linear_cross_entropy(rows, head_, {}, flat_targets, options);
}

}  // namespace tapeformer
