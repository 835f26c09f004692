// A decoder-only language model: GPT-2's architecture (Radford et al. 2019) and its neighbours.
#pragma once

#include "autograd/ops/losses.h"
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
  // The token with which each document of a row begins: from one to the next, tokens see each other and nothing before,
  // and positions count from 0, so that a document gives what it gives alone. What stands before the first one is a
  // document too. -1: there is none, a row is one text.
  std::int32_t document_token = -1;
};

class Gpt : public Module {
 public:
  explicit Gpt(const GptConfig& config);

  const GptConfig& config() const { return config_; }
  StackCache make_cache() const { return stack_.make_cache(config_.context); }

  // ids i32 (B, T) → the stream behind the final norm (B, T, dim). With a cache, ids continue the cached tokens, which
  // are of one document: Error when ids begin another behind the first token. On a tape of options.recompute the model
  // must live until backward.
  Variable forward(const Variable& ids, StackCache* cache = nullptr) const;
  // forward()'s result, or rows of it (…, dim) → logits (…, vocab).
  Variable logits(const Variable& hidden) const;
  // Cross-entropy of targets i32 (B, T) as ops.h says, without ever holding all logits.
  Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const;

 private:
  GptConfig config_;
  Embedding token_embedding_;
  PositionEmbedding positions_;
  Dropout dropout_;
  BlockStack stack_;
  Variable head_;
};

}  // namespace tapeformer
