// A bidirectional language model. ELMo's vectors are mixtures of its layers (Peters et al. 2018).
#pragma once

#include "nn/layers/lm_head.h"
#include "nn/models/registry.h"
#include "nn/recurrent/recurrent.h"

namespace tapeformer {

struct BilmConfig {
  std::int64_t vocab = 0;
  RecurrentConfig stack;  // the layers of each direction; input_dim is the width of the embedding
  bool tie_embeddings = false;
};

// Returns the row of the registry.
ModelFamily bilm_family();

// Two recurrent stacks that share the embedding and the head. In a row x_0 … x_T, the forward stack reads from x_0 on,
// and its last layer predicts x_{k+1} at x_k: T targets, x_1 … x_T. The backward stack reads from x_T on and predicts
// x_{k−1} at x_k: T targets, x_{T−1} … x_0. The loss is the mean over all 2·T targets, −1/(2T) Σ [ln P(x_k | x_0 …
// x_{k−1}) + ln P(x_k | x_{k+1} … x_T)]. Dropout is applied to the embedding, between layers and to the last states.
class Bilm : public BidirectionalLanguageModel {
 public:
  // Throws Error if the embedding is tied and not as wide as the states.
  explicit Bilm(const BilmConfig& config);

  const BilmConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  // Returns h_0 = [x; x] (B, T, 2·input_dim), and h_j = [→h_j; ←h_j] (B, T, 2·dim) for each layer j.
  std::vector<Variable> hidden_states(const Batch& rows) const override;
  std::vector<TokenPrediction> predictions(const Batch& rows) const override;
  std::vector<std::string> prediction_names() const override { return {"forward", "backward"}; }
  std::int64_t scored_targets(std::int64_t length) const override { return length - 1; }
  Variable logits(const Variable& features) const override { return head_.logits(features); }
  using BidirectionalLanguageModel::loss;
  Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const override {
    return head_.loss(features, targets, options);
  }

 private:
  // The embedding (T, B, input_dim), with dropout, and the states (T, B, dim) of every layer of both stacks.
  struct States {
    Variable embedding;
    std::vector<Variable> forward, backward;
  };
  States states(const Batch& rows) const;

  BilmConfig config_;
  Embedding token_embedding_;
  Dropout dropout_;
  RecurrentStack forward_, backward_;
  LMHead head_;
};

}  // namespace tapeformer
