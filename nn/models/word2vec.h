// Word vectors (Mikolov et al. 2013): the model is only a table of token embeddings, which the tasks skip_gram and
// glove train.
#pragma once

#include "nn/layers/layers.h"
#include "nn/models/registry.h"

namespace tapeformer {

struct Word2vecConfig {
  std::int64_t vocab = 0, dim = 0;
  DType dtype = DType::f32;
};

// Return these families' rows of the registry (registry.h). The family glove has the same model; its task trains a
// second table, for contexts, beside it.
ModelFamily word2vec_family();
ModelFamily glove_family();

// The vector of a token is a row of token_embedding.weight (vocab, dim); it does not depend on the tokens around it.
// The initial values are those of word2vec.c, uniform in ±1/(2·dim).
class Word2vec : public Model {
 public:
  explicit Word2vec(const Word2vecConfig& config);

  const Word2vecConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  const Embedding* token_embedding() const override { return &token_embedding_; }
  // Returns one layer, the embedding (B, T, dim).
  std::vector<Variable> hidden_states(const Batch& batch) const override;

 private:
  Word2vecConfig config_;
  Embedding token_embedding_;
};

}  // namespace tapeformer
