// Skip-gram and continuous bag of words (CBOW) with negative sampling (Mikolov et al. 2013, "Efficient estimation of
// word representations in vector space" and "Distributed representations of words and phrases and their
// compositionality"): a model learns vectors of words from neighbouring words.
#pragma once

#include "nn/interfaces/model_with_heads.h"
#include "nn/layers/layers.h"
#include "train/config/config.h"

namespace tapeformer {

struct SkipGramPairs {
  // i32 (N, I): the tokens that predict together: for skip-gram the centre alone (I = 1), for CBOW the contexts of a
  // centre.
  Variable inputs;
  // i32 (N, C, 1 + k): the C tokens that are predicted, each followed by k negatives.
  Variable outputs;
};

// v is the mean of the model's vectors of the inputs, v_c for a single input c; u_o is row o of
// context_embedding.weight (vocab, dim), which is initially zero. If, in skip-gram, dim is at least vocab and negatives
// are drawn by their frequency, the optimum has u_o·v_c = PMI(c, o) − ln k (Levy & Goldberg 2014).
class SkipGramModel : public ModelWithHeads {
 public:
  explicit SkipGramModel(std::unique_ptr<Model> model);

  // Returns the training loss over the N·C predicted tokens o: Σ [−ln σ(u_o·v) − Σ_n ln σ(−u_n·v)] / normalizer.
  Variable loss(const SkipGramPairs& pairs, double normalizer) const;

 private:
  Embedding context_embedding_;
};

// Makes the model that the configuration describes, its parameters not initialized yet. Throws UsageError when its
// family is for another task.
std::unique_ptr<SkipGramModel> make_skip_gram_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary);

}  // namespace tapeformer
