// Translations by beam search (Graves 2012; with the length penalty of Wu et al. 2016, GNMT, equation 14).
#pragma once

#include <functional>
#include <vector>

#include "core/progress.h"
#include "nn/interfaces/encoder_decoder.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

struct BeamOptions {
  std::int64_t beam = 1;        // the number of hypotheses kept at each length; 1: greedy, always the likeliest token
  double length_penalty = 0.6;  // α: the score of a finished hypothesis is log P / ((5 + tokens)/6)^α
  std::int64_t n_best = 1;      // the number of translations of each sentence, at most `beam`
  std::int64_t batch = 64;      // the number of sentences translated at once
  std::int64_t max_length = 0;  // of a translation, in tokens with the end token, at most the model's context; 0: the
                                // context, or 3·(source tokens) + 50 for a model without one
  bool use_cache = true;        // false: a full pass of the decoder for every token (same translations, slower)
};

struct Hypothesis {
  std::vector<std::int32_t> ids;  // without the begin and end tokens
  double log_probability = 0;     // of the ids and the end token
  double score = 0;
};

// Throws UsageError for options out of range.
void check_options(const BeamOptions& options);

// Returns the n best translations of each source (ids without begin and end tokens), best first, in the order of the
// sources. At each length the search keeps the `beam` likeliest continuations of all hypotheses; of equal ones it
// prefers the earlier hypothesis, then the lower id. The end token finishes a hypothesis. The search for a sentence
// stops when no live hypothesis can reach the score of the n-th best finished one. At max_length a hypothesis can only
// end. The result for a sentence does not depend on the other sentences. Throws Error if a source is empty or, with its
// end token, longer than the context, and if the model's predictions are not finite numbers. Calls `progress` with the
// fraction of the sources that is done.
std::vector<std::vector<Hypothesis>> translate(const EncoderDecoder& model,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const PairSymbols& symbols, const BeamOptions& options,
                                               const ProgressCallback& progress = {});

}  // namespace tapeformer
