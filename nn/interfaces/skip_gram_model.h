// The interface of the skip-gram model with negative sampling, which learns word vectors from pairs of neighbouring
// words (Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality").
#pragma once

#include "nn/interfaces/model.h"

namespace tapeformer {

struct SkipGramPairs {
  Variable centers;  // i32 (N)
  // i32 (N, C, 1 + k): the C contexts of each centre, each followed by k negatives.
  Variable outputs;
};

// A text encoder whose vectors do not depend on other tokens: the embedding is its only layer.
class SkipGramModel : public Model {
 public:
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  virtual std::int64_t window() const = 0;     // C is twice this
  virtual std::int64_t negatives() const = 0;  // k
  virtual double negative_power() const = 0;   // negatives are drawn with probability proportional to count^power

  using Model::loss;
  // Returns the training loss over the N·C pairs of a centre c and a context o: Σ [−ln σ(u_o·v_c) − Σ_n ln σ(−u_n·v_c)]
  // / normalizer.
  virtual Variable loss(const SkipGramPairs& pairs, double normalizer) const = 0;
};

}  // namespace tapeformer
