// Translations by beam search (Graves 2012; with the length penalty of Wu et al. 2016, GNMT, equation 14).
#pragma once

#include <functional>
#include <vector>

#include "core/progress.h"
#include "nn/interfaces/sequence_to_sequence.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

struct BeamOptions {
  std::int64_t beam = 1;        // hypotheses kept at each length; 1: greedy, always the likeliest token
  double length_penalty = 0.6;  // α: the score of a finished hypothesis is log P / ((5 + tokens)/6)^α
  std::int64_t n_best = 1;      // translations of each sentence, at most `beam`
  std::int64_t batch = 64;      // sentences at once
  std::int64_t max_length = 0;  // tokens of a translation with its end; 0, or more than the limit: the model's context,
                                // or, without one, three for each token of the source and 50 more
  bool use_cache = true;        // off: a full pass of the decoder for every token (same translations, slower)
};

struct Hypothesis {
  std::vector<std::int32_t> ids;  // without begin and end of the sentence
  double log_probability = 0;     // of the ids and the end of the sentence
  double score = 0;
};

// Throws UsageError for options out of range.
void check_options(const BeamOptions& options);

// Returns the n best translations of each source (ids without begin and end), best first, in the order of the sources.
// At each length the search keeps the `beam` likeliest continuations of all hypotheses; ties go to the earlier
// hypothesis, then to the lower id. A continuation by the end of the sentence finishes its hypothesis. The search for a
// sentence stops when no live hypothesis can reach the score of the n-th best finished one. At max_length a hypothesis
// can only end. The result for a sentence does not depend on the other sentences. Throws Error for a source that is
// empty or, with its end, longer than the context, and when the model's predictions are not finite numbers. Calls
// `progress` with the share that is done.
std::vector<std::vector<Hypothesis>> translate(const SequenceToSequence& model,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const PairSymbols& symbols, const BeamOptions& options,
                                               const ProgressCallback& progress = {});

}  // namespace tapeformer
