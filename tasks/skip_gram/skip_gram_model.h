// Skip-gram with negative sampling (Mikolov et al. 2013, "Distributed representations of words and phrases and their
// compositionality"): a model learns vectors of words from pairs of neighbouring words.
#pragma once

#include "nn/interfaces/model_with_heads.h"
#include "nn/layers/layers.h"
#include "train/config/config.h"

namespace tapeformer {

struct SkipGramPairs {
  Variable centers;  // i32 (N)
  // i32 (N, C, 1 + k): the C contexts of each centre, each followed by k negatives.
  Variable outputs;
};

// v_c is the output of the model for a row that has only the token c; u_o is row o of context_embedding.weight (vocab,
// dim), which is initially zero. If dim is at least vocab and negatives are drawn by their frequency, the optimum has
// u_o·v_c = PMI(c, o) − ln k (Levy & Goldberg 2014).
class SkipGramModel : public ModelWithHeads {
 public:
  explicit SkipGramModel(std::unique_ptr<Model> model);

  // Returns the training loss over the N·C pairs of a centre c and a context o: Σ [−ln σ(u_o·v_c) − Σ_n ln σ(−u_n·v_c)]
  // / normalizer.
  Variable loss(const SkipGramPairs& pairs, double normalizer) const;

 private:
  Embedding context_embedding_;
};

// Makes the model that the configuration describes, its parameters not initialized yet. Throws UsageError when its
// family is for another task.
std::unique_ptr<SkipGramModel> make_skip_gram_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary);

}  // namespace tapeformer
