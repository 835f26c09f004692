// A recurrent language model (Mikolov et al. 2010; with LSTM cells and dropout, Zaremba et al. 2014).
#pragma once

#include "nn/layers/lm_head.h"
#include "nn/models/registry.h"
#include "nn/recurrent/recurrent.h"

namespace tapeformer {

struct RnnConfig {
  std::int64_t vocab = 0;
  RecurrentConfig stack;  // input_dim is the width of the embedding
  bool tie_embeddings = false;
};

// Returns this family's row of the registry (registry.h).
ModelFamily rnn_family();

// logits_t = h_t Wᵀ + b, where h_t is the last layer's state after token t. Dropout is applied to the embedding,
// between layers and to the last states, but never between time steps.
class Rnn : public RecurrentModel {
 public:
  // Throws Error if the embedding is tied and not as wide as the states.
  explicit Rnn(const RnnConfig& config);

  const RnnConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  const Embedding* token_embedding() const override { return &token_embedding_; }
  // The features are the last layer's states.
  Variable forward(const Variable& ids, Cache* cache = nullptr) const override;
  // Returns the embeddings (B, T, input_dim), and the states (B, T, dim) of every layer.
  std::vector<Variable> hidden_states(const Batch& batch) const override;
  Variable logits(const Variable& features) const override;
  // The logits are never in memory all at once.
  Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const override;
  Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options,
                RecurrentState& state) const override;

 private:
  // Time is the first axis in the layers: embed() maps ids (B, T) to (T, B, input_dim), states() to (T, B, dim).
  Variable embed(const Variable& ids) const;
  Variable states(const Variable& ids, RecurrentState* state) const;
  Variable loss_of(const Variable& states, const Variable& targets, const CrossEntropyOptions& options) const;

  RnnConfig config_;
  Embedding token_embedding_;
  Dropout dropout_;
  RecurrentStack stack_;
  LMHead head_;
};

}  // namespace tapeformer
