// The feed-forward language model of Bengio et al. 2003, "A neural probabilistic language model".
#pragma once

#include "nn/layers/lm_head.h"
#include "nn/models/registry.h"

namespace tapeformer {

struct NplmConfig {
  std::int64_t vocab = 0;
  std::int64_t order = 5;  // n: a token is predicted from the n − 1 tokens before it
  std::int64_t embedding_dim = 0, dim = 0;
  bool direct = true;  // whether the logits also depend on the embeddings directly (W x)
  double dropout = 0;
  DType dtype = DType::f32;
};

// Returns this family's row of the registry (registry.h).
ModelFamily nplm_family();

// The logits of the token after w_t are b + W x + U tanh(d + H x), where x = [C(w_t); C(w_{t−1}); …; C(w_{t−n+2})] are
// the embeddings of the last n − 1 tokens, the latest first; embeddings before the beginning are zeros. The features
// are [tanh(d + H x); x], so that [U W] is the head's one matrix. Dropout is applied to x and to the hidden layer.
class Nplm : public CausalModel {
 public:
  // Throws Error if the order is below 2.
  explicit Nplm(const NplmConfig& config);

  const NplmConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  const Embedding* token_embedding() const override { return &token_embedding_; }
  // Rows may have any length, although the model looks only at n − 1 tokens.
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  std::unique_ptr<Cache> make_cache() const override;
  Variable forward(const Variable& ids, Cache* cache = nullptr) const override;
  // Returns the embeddings (B, T, embedding_dim), and the features.
  std::vector<Variable> hidden_states(const Batch& batch) const override;
  Variable logits(const Variable& features) const override { return head_.logits(features); }
  // The logits are never in memory all at once.
  Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const override {
    return head_.loss(forward(ids), targets.value(), options);
  }

 private:
  // Joins the embedding of each token with those of the n − 2 tokens before it: C(w_t) (B, T, embedding_dim) → x (B, T,
  // (n − 1)·embedding_dim).
  Variable context_window(const Variable& embedded) const;
  // Computes the features: x → [tanh(d + H x); x] if `direct`, else tanh(d + H x).
  Variable features_of(const Variable& x) const;

  NplmConfig config_;
  Embedding token_embedding_;
  Dropout dropout_;
  Linear hidden_;
  LMHead head_;
};

}  // namespace tapeformer
