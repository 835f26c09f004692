// Translations by a beam search, or drawn at random.
#pragma once

#include <optional>
#include <vector>

#include "core/progress.h"
#include "generate/beam_search.h"
#include "generate/sampler.h"
#include "nn/interfaces/encoder_decoder.h"
#include "tokenizer/sentence_symbols.h"

namespace tapeformer {

struct TranslateOptions {
  BeamOptions search = {};
  std::optional<SamplingOptions> sampling = {};  // draws one translation of each source; `search` is not used then
  std::uint64_t seed = 1;                        // of the sampling
  std::int64_t batch = 64;                       // the number of sentences translated at once
  std::int64_t max_length = 0;  // of a translation, in tokens with the end token, at most the model's context; 0: the
                                // context, or 3·(source tokens) + 50 for a model without one
  bool use_cache = true;        // false: a full pass of the decoder for every token (same translations, slower)
  // Makes the grammar of the translation of a source, by the index of the source and the most tokens that it may have
  // with the end token; empty: any text may be written.
  std::function<std::shared_ptr<const OutputGrammar>(std::size_t source, std::int64_t most)> grammar = {};
};

// Throws UsageError for options out of range.
void check_options(const TranslateOptions& options);

// Returns the n best translations of each source (ids without begin and end tokens), best first, in the order of the
// sources. With sampling there is one translation of each source, and its score is its log P. Translations have no
// begin and padding tokens; one of max_length tokens ends with the end token. The result for a source does not depend
// on the other sources; a sampled translation is a function of the source and the seed. Throws Error if a source is
// empty or, with its end token, longer than the context, and if the model's predictions are not finite numbers. Calls
// `progress` with the fraction of the sources that is done.
std::vector<std::vector<Hypothesis>> translate(const EncoderDecoder& model,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const PairSymbols& symbols, const TranslateOptions& options,
                                               const ProgressCallback& progress = {});

}  // namespace tapeformer
