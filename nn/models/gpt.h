// A decoder-only language model: GPT-2's architecture (Radford et al. 2019) and its neighbours.
#pragma once

#include <memory>
#include <vector>

#include "autograd/ops/ops.h"
#include "nn/block.h"
#include "nn/positions.h"

namespace tapeformer {

struct GptConfig {
  std::int64_t vocab = 0;
  std::int64_t context = 128;
  std::int64_t layers = 4;
  BlockConfig block;
  PositionKind position = PositionKind::learned;
  double position_base = 10000;
  bool tie_embeddings = true;  // the head's matrix is the token embedding
};

// One cache per block.
using GptCache = std::vector<KeyValueCache>;

// Matrices begin normal with deviation 0.02, those that write to the residual stream with 0.02/√(2L) (GPT-2).
class Gpt : public Module {
 public:
  explicit Gpt(const GptConfig& config);

  const GptConfig& config() const { return config_; }
  GptCache make_cache() const { return GptCache(config_.layers, KeyValueCache(config_.context)); }

  // ids i32 (B, T) → the stream behind the final norm (B, T, dim). With a cache, ids continue the cached tokens. Each
  // block but the last is recomputed on a tape of options.recompute; the model must live until backward then.
  Variable forward(const Variable& ids, GptCache* cache = nullptr) const;
  // forward()'s result, or rows of it (…, dim) → logits (…, vocab).
  Variable logits(const Variable& hidden) const;
  // Cross-entropy of targets i32 (B, T) as ops.h says, without ever holding all logits.
  Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const;

 private:
  GptConfig config_;
  Embedding token_embedding_;
  Positions positions_;
  Dropout dropout_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<LayerNorm> final_norm_;  // pre-norm only: post-norm blocks end with a norm
  Variable head_;
};

}  // namespace tapeformer
