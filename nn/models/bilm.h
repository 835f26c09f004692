// ELMo's bidirectional language model (Peters et al. 2018): two recurrent stacks that read a text in opposite
// directions.
#pragma once

#include "nn/models/registry.h"
#include "nn/recurrent/recurrent.h"

namespace tapeformer {

struct BilmConfig {
  std::int64_t vocab = 0;
  RecurrentConfig stack;  // the layers of each direction; input_dim is the width of the embedding
  Init embedding_init = Init::normal(1);
};

// Returns this family's row of the registry (registry.h).
ModelFamily bilm_family();

// Two recurrent stacks that share the embedding: the forward stack reads a row from its first token on, the backward
// stack from its last one. Dropout is applied to the embedding, between layers and to the features.
class Bilm : public Model {
 public:
  explicit Bilm(const BilmConfig& config);

  const BilmConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  const Embedding* token_embedding() const override { return &token_embedding_; }
  // Returns h_0 = [x; x] (B, T, 2·input_dim), and h_j = [→h_j; ←h_j] (B, T, 2·dim) for each layer j.
  std::vector<Variable> hidden_states(const Batch& batch) const override;
  // Returns h_L (B, T, 2·dim). Its first half depends only on a token and those before it, its second half only on the
  // token and those after it.
  Variable features(const Batch& batch) const override;

 private:
  // The embedding (T, B, input_dim), with dropout, and the states (T, B, dim) of every layer of both stacks.
  struct States {
    Variable embedding;
    std::vector<Variable> forward, backward;
  };
  States states(const Batch& batch) const;

  BilmConfig config_;
  Embedding token_embedding_;
  Dropout dropout_;
  RecurrentStack forward_, backward_;
};

}  // namespace tapeformer
