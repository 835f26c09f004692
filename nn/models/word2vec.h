// Word vectors: the skip-gram model with negative sampling (Mikolov et al. 2013).
#pragma once

#include "nn/layers/layers.h"
#include "nn/models/registry.h"

namespace tapeformer {

struct Word2vecConfig {
  std::int64_t vocab = 0, dim = 0;
  std::int64_t window = 5, negatives = 5;
  double negative_power = 0.75;
  DType dtype = DType::f32;
};

// Returns the row of the registry.
ModelFamily word2vec_family();

// The vector v_c of a token is a row of token_embedding.weight (vocab, dim), and u_o is a row of
// context_embedding.weight (vocab, dim). The initial values are those of word2vec.c: v is uniform in ±1/(2·dim), u is
// zero. If dim is at least vocab and the power is 1, the optimum has u_o·v_c = PMI(c, o) − ln k (Levy & Goldberg 2014).
class Word2vec : public SkipGramModel {
 public:
  explicit Word2vec(const Word2vecConfig& config);

  const Word2vecConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  std::int64_t window() const override { return config_.window; }
  std::int64_t negatives() const override { return config_.negatives; }
  double negative_power() const override { return config_.negative_power; }
  // Returns one layer, v (B, T, dim).
  std::vector<Variable> hidden_states(const Batch& rows) const override;
  // Returns u_o·v for every token o.
  Variable logits(const Variable& features) const override;
  Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const override;
  Variable loss(const SkipGramPairs& pairs, double normalizer) const override;

 private:
  Word2vecConfig config_;
  Embedding token_embedding_, context_embedding_;
};

}  // namespace tapeformer
