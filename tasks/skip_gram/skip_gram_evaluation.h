// Evaluates how well a skip-gram model distinguishes the contexts of tokens from randomly drawn tokens.
#pragma once

#include "data/skip_gram/skip_gram_batcher.h"
#include "tasks/skip_gram/skip_gram_model.h"
#include "tasks/text/text_evaluation.h"
#include "train/config/config.h"

namespace tapeformer {

// Returns the options by which pairs are drawn from a text: `batch` rows of the configuration's length at a time.
SkipGramOptions skip_gram_options(const ResolvedConfig& config, std::int64_t batch);

// Puts a batch on a tape.
SkipGramPairs skip_gram_pairs(Tape& tape, const SkipGramBatch& batch, const SkipGramOptions& options);

// Scores every pair of a text (SkipGramBatcher::fill), whose negatives are the same in every evaluation: `tokens` is
// the number of pairs, `nats` the sum of their losses. Only the first `max_batches` batches are scored; 0: all. Ranks
// share the batches, and all return the whole result.
Evaluation evaluate(const SkipGramModel& model, const SkipGramBatcher& pairs, std::int64_t max_batches,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

}  // namespace tapeformer
