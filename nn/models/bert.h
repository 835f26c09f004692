// BERT's encoder (Devlin et al. 2019), which is pre-trained by predicting masked tokens.
#pragma once

#include "nn/blocks/block.h"
#include "nn/layers/positions.h"
#include "nn/models/registry.h"

namespace tapeformer {

struct BertConfig {
  std::int64_t vocab = 0;
  std::int64_t context = 128;
  std::int64_t layers = 4;
  BlockConfig block;
  PositionConfig position = LearnedPositions{};
  double embedding_scale = 1;  // the factor of token embeddings
  std::int64_t segments = 1;   // number of segment embeddings; 1: none
};

// Returns this family's row of the registry (registry.h).
ModelFamily bert_family();

// X = dropout(LN(s·E[token] + P[position] + S[segment])), s = embedding_scale, followed by blocks in which every token
// attends to all tokens of its row.
class Bert : public Model {
 public:
  explicit Bert(const BertConfig& config);

  const BertConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  std::optional<std::int64_t> context() const override { return config_.context; }
  bool has_special_tokens() const override { return true; }
  const Embedding* token_embedding() const override { return &token_embedding_; }
  const PositionEmbedding* position_embedding() const override { return &positions_; }
  // Returns X and the output of every block, (B, T, dim) each.
  std::vector<Variable> hidden_states(const Batch& batch) const override;
  // Returns the output of the last block; the others are not kept in memory.
  Variable features(const Batch& batch) const override {
    return call([&] { return encode(batch, embed(batch)); });
  }

 private:
  Variable embed(const Batch& batch) const;
  Variable encode(const Batch& batch, const Variable& x, std::vector<Variable>* layers = nullptr) const;

  BertConfig config_;
  Embedding token_embedding_;
  PositionEmbedding positions_;
  std::unique_ptr<Embedding> segment_embedding_;
  std::unique_ptr<Norm> embedding_norm_;  // null: none
  Dropout dropout_;
  BlockStack stack_;
};

}  // namespace tapeformer
