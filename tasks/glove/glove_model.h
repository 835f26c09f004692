// GloVe (Pennington et al. 2014): vectors of words whose products are the logarithms of how often the words occur near
// each other.
#pragma once

#include <span>

#include "data/skip_gram/cooccurrences.h"
#include "nn/interfaces/model_with_heads.h"
#include "nn/layers/layers.h"
#include "train/config/config.h"

namespace tapeformer {

// The numbers of the loss that are not learned.
struct GloveWeighting {
  double x_max = 100, alpha = 0.75;
  // f(x) = min(1, (x/x_max)^alpha), the weight of a pair that occurs x times.
  double weight(double count) const;
};

// ln X_ij is predicted by w_i·w̃_j + b_i + b̃_j. w is the embedding of the family's model; context_embedding.weight (w̃,
// (vocab, dim)), bias_embedding.weight and context_bias_embedding.weight (vocab, 1) are added here. The vector of a
// token is w + w̃, so no parameter alone is its embedding. features() are w, from which the loss is computed.
class GloveModel : public ModelWithHeads {
 public:
  explicit GloveModel(std::unique_ptr<Model> model);

  const Embedding* token_embedding() const override { return nullptr; }
  // Returns one layer, the sums w + w̃ (B, T, dim).
  std::vector<Variable> hidden_states(const Batch& batch) const override;

  // Predicts ln X of N pairs: i32 (N) each → (N).
  Variable predict(const Variable& i, const Variable& j) const;
  // Returns the training loss Σ f(X) (prediction − ln X)² / normalizer over the pairs.
  Variable loss(Tape& tape, std::span<const Cooccurrence> pairs, const GloveWeighting& weighting,
                double normalizer) const;

 private:
  const Variable& table() const { return ModelWithHeads::token_embedding()->weight; }  // w

  Embedding context_embedding_, bias_, context_bias_;
};

// Makes the model that the configuration describes, its parameters not initialized yet. Throws UsageError when its
// family is for another task.
std::unique_ptr<GloveModel> make_glove_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary);

// Puts the first or the second tokens of N pairs on a tape: i32 (N).
Variable tokens_of(Tape& tape, std::span<const Cooccurrence> pairs, std::int32_t Cooccurrence::*token);

}  // namespace tapeformer
