// A bidirectional language model, whose layers are the vectors of ELMo (Peters et al. 2018).
#pragma once

#include "nn/layers/lm_head.h"
#include "nn/models/registry.h"
#include "nn/recurrent/recurrent.h"

namespace tapeformer {

struct BilmConfig {
  std::int64_t vocab = 0;
  RecurrentConfig stack;  // of each direction; input_dim is the width of the embedding
  bool tie_embeddings = false;
};

// The row of the registry.
ModelFamily bilm_family();

// Two recurrent stacks with the embedding and the head in common. Of a row x_0 … x_T the forward one reads from x_0 on,
// and its last layer at x_k predicts x_{k+1}: T targets, x_1 … x_T. The backward one reads from x_T on, and at x_k
// predicts x_{k−1}: T targets, x_{T−1} … x_0. The loss is the mean over all 2·T of them, which is
// −1/(2T) Σ [ln P(x_k | x_0 … x_{k−1}) + ln P(x_k | x_{k+1} … x_T)]. Dropout stands on the embedding, between layers
// and on the last states.
class Bilm : public BidirectionalLanguageModel {
 public:
  // Throws Error when the embedding is tied and not as wide as the states.
  explicit Bilm(const BilmConfig& config);

  const BilmConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  // h_0 = [x; x] (B, T, 2·input_dim), and h_j = [→h_j; ←h_j] (B, T, 2·dim) of each layer.
  std::vector<Variable> hidden_states(const EncoderBatch& rows) const override;
  std::vector<TokenPrediction> predictions(const EncoderBatch& rows) const override;
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
  States states(const EncoderBatch& rows) const;

  BilmConfig config_;
  Embedding token_embedding_;
  Dropout dropout_;
  RecurrentStack forward_, backward_;
  LMHead head_;
};

}  // namespace tapeformer
