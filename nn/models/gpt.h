// A decoder-only language model with GPT-2's architecture (Radford et al. 2019) and variants of it.
#pragma once

#include <limits>

#include "nn/blocks/block.h"
#include "nn/interfaces/causal_model.h"
#include "nn/layers/lm_head.h"
#include "nn/layers/positions.h"
#include "nn/models/registry.h"

namespace tapeformer {

struct GptConfig {
  std::int64_t vocab = 0;
  std::int64_t context = 128;
  std::int64_t layers = 4;
  BlockConfig block;
  PositionConfig position = LearnedPositions{};
  double embedding_scale = 1;  // the factor of token embeddings
  bool tie_embeddings = true;  // whether the head's matrix is the token embedding
  double logit_softcap = 0;    // the bound of the logits; 0: none
  // The token with which each document of a row begins. A token attends only within its document, whose positions count
  // from 0, so the output of a document does not depend on the others. The tokens before the first such token are a
  // document, too. -1: a row is one text.
  std::int32_t document_token = -1;
};

// Returns this family's row of the registry (registry.h).
ModelFamily gpt_family();

class Gpt : public CausalModel {
 public:
  explicit Gpt(const GptConfig& config);

  const GptConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  std::optional<std::int64_t> context() const override { return config_.context; }
  bool can_exceed_context() const override { return positions_.can_exceed_context(); }
  std::int32_t document_token() const override { return config_.document_token; }
  const Embedding* token_embedding() const override { return &token_embedding_; }
  const PositionEmbedding* position_embedding() const override { return &positions_; }
  std::unique_ptr<Cache> make_cache() const override {
    return stack_.make_cache(can_exceed_context() ? std::numeric_limits<std::int64_t>::max() : config_.context);
  }

  // The features are the residual stream after the final norm (B, T, dim). With a cache, all ids must belong to the
  // document that the cache holds. Throws Error if a document token comes after the first token of the cache.
  Variable forward(const Variable& ids, Cache* cache = nullptr) const override {
    return call([&] { return run(ids, {}, cache); });
  }
  // Returns (B, T, dim) each: the sum of token and position embeddings, and the output of every block, that of the last
  // block after the final norm.
  std::vector<Variable> hidden_states(const Batch& batch) const override;
  Variable logits(const Variable& features) const override;
  // The logits are never in memory all at once.
  Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const override;
  Variable packed_loss(const Variable& ids, const PackedRows& rows, const Variable& targets,
                       const CrossEntropyOptions& options) const override;

 private:
  // Returns the features. Row b of ids has lengths[b] tokens (Batch). If `layers` is given, appends the hidden states
  // to it. The documents begin at `first_tokens`; if that is undefined, at document_token.
  Variable run(const Variable& ids, const Tensor& lengths, Cache* cache, std::vector<Variable>* layers = nullptr,
               const Tensor& first_tokens = {}) const;

  GptConfig config_;
  Embedding token_embedding_;
  PositionEmbedding positions_;
  Dropout dropout_;
  BlockStack stack_;
  LMHead head_;
};

}  // namespace tapeformer
