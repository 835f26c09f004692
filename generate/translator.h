// Translations by beam search (Graves 2012; with the length penalty of Wu et al. 2016, GNMT, equation 14).
#pragma once

#include <functional>
#include <vector>

#include "core/progress.h"
#include "nn/models/transformer.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

struct BeamOptions {
  std::int64_t beam = 1;        // hypotheses kept at each length; 1: greedy, always the likeliest token
  double length_penalty = 0.6;  // α: a finished hypothesis scores log P / ((5 + tokens)/6)^α
  std::int64_t n_best = 1;      // translations of each sentence, at most `beam`
  std::int64_t batch = 64;      // sentences at once
  std::int64_t max_length = 0;  // tokens of a translation, its end counted; 0, or beyond it: the model's context
  bool use_cache = true;        // off: every token by a full pass of the decoder (the same translations, slower)
};

struct Hypothesis {
  std::vector<std::int32_t> ids;  // without the symbols around them
  double log_probability = 0;     // of the ids and the end
  double score = 0;
};

// Throws UsageError for options out of range.
void check_options(const BeamOptions& options);

// The n best translations of each source (ids without symbols around them), best first, in the order of the sources.
// At each length the `beam` likeliest continuations of all hypotheses stay, equal ones by the earlier hypothesis, then
// the lower id; those that end there are finished. A sentence is done when no hypothesis that goes on can reach the
// score of its n-th best finished one. At max_length a hypothesis can only end. A sentence's result does not depend on
// the others that are translated with it. Throws Error for a source that is empty or longer than the context, its end
// counted, and for a model whose predictions are no finite numbers. `progress` is told the share that is done.
std::vector<std::vector<Hypothesis>> translate(const Transformer& model,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const PairSymbols& symbols, const BeamOptions& options,
                                               const ProgressCallback& progress = {});

}  // namespace tapeformer
