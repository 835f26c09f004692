// Measures how well a skip-gram model tells the contexts of tokens from tokens that are drawn.
#pragma once

#include "data/skip_gram/skip_gram_batcher.h"
#include "tasks/text/text_evaluation.h"
#include "train/config/config.h"

namespace tapeformer {

// How pairs of a text are made for a model, `batch` rows of the configuration's length at a time.
SkipGramOptions skip_gram_options(const ResolvedConfig& config, const SkipGramModel& model, std::int64_t batch);

// A batch as values on a tape.
SkipGramPairs skip_gram_pairs(Tape& tape, const SkipGramBatch& batch, const SkipGramModel& model);

// Scores every pair of a text (SkipGramBatcher::fill), whose negatives are always the same: tokens counts the pairs,
// nats is the sum of their losses. Only the first `max_batches` batches are scored; 0: all.
// Ranks share the batches, and all return the whole.
Evaluation evaluate(const SkipGramModel& model, const SkipGramBatcher& pairs, std::int64_t max_batches,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

}  // namespace tapeformer
