// Measures how well a masked language model predicts what is masked.
#pragma once

#include <vector>

#include "data/masked/masked_batcher.h"
#include "tasks/text/text_evaluation.h"
#include "train/config/config.h"

namespace tapeformer {

// How rows of a text are made for the model of a configuration, `batch` of them at a time.
MaskedRowOptions masked_row_options(const ResolvedConfig& config, const MaskedLanguageModel& model, std::int64_t batch);

// A batch as values on a tape.
MaskedRows masked_rows(Tape& tape, const MaskedBatch& batch);

// Scores the chosen tokens of the text's windows (MaskedBatcher::fill), whose masks are always the same: tokens counts
// them, nats is their Σ −ln P, and the measure "accuracy" is the share of them that is the likeliest token of its
// place; it is missing where none is chosen. With next-sentence prediction there are next_sentence_loss (nats per row)
// and next_sentence_accuracy as well. Only the first `max_batches` batches are scored; 0: all.
// Ranks share the batches, and all return the whole.
Evaluation evaluate(const MaskedLanguageModel& model, const MaskedBatcher& rows, std::int64_t max_batches,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

// Pseudo-likelihood (Wang & Cho 2019; Salazar et al. 2020): each token of the text that is not special is masked by
// itself in its window, `batch` of them in one forward pass: Σ −ln P(token | the other tokens of its window). The
// perplexity of the result is the pseudo-perplexity.
Evaluation pseudo_likelihood(const MaskedLanguageModel& model, const MaskedBatcher& rows, std::int64_t batch,
                             const ProgressCallback& progress = {});

// What may stand at a masked place.
struct FilledMask {
  struct Candidate {
    std::int32_t id;
    double probability;
  };
  std::int64_t place;                 // in the ids
  std::vector<Candidate> candidates;  // the likeliest first
};
// The `top` likeliest tokens for each [MASK] of a row, all masks read at once, without those of `except`. `ids` are
// those of a whole row, with [CLS] and [SEP]. Throws Error when the model's predictions are not finite numbers.
std::vector<FilledMask> fill_masks(const MaskedLanguageModel& model, std::span<const std::int32_t> ids,
                                   std::int32_t mask_token, std::int64_t top,
                                   std::span<const std::int32_t> except = {});

}  // namespace tapeformer
