// Evaluates how well a masked language model predicts masked tokens.
#pragma once

#include <vector>

#include "data/masked/masked_batcher.h"
#include "tasks/common/load_run.h"
#include "tasks/masked_language_model/masked_language_model.h"
#include "tasks/text/text_evaluation.h"
#include "train/config/config.h"

namespace tapeformer {

using TrainedMaskedLanguageModel = TrainedOnText<MaskedLanguageModel>;
template <>
TrainedMaskedLanguageModel load_run(const RunSelection& source, const LoadOptions& options);

// Returns the options by which a text is cut into rows for the configuration's model, `batch` rows at a time.
MaskedRowOptions masked_row_options(const ResolvedConfig& config, std::int64_t batch);

// Puts a batch on a tape.
MaskedRows masked_rows(Tape& tape, const MaskedBatch& batch);

// Scores the masked positions of the text's windows (MaskedBatcher::fill), which are the same in every evaluation:
// `tokens` is the number of masked positions, `nats` the sum of −ln P over them, and the metric "accuracy" the share
// where the right token is the most probable one; it is missing if no position is masked. With next-sentence prediction
// there are also the metrics next_sentence_loss (nats per row) and next_sentence_accuracy. Only the first `max_batches`
// batches are scored; 0: all. Ranks share the batches, and all return the whole result.
Evaluation evaluate(const MaskedLanguageModel& model, const MaskedBatcher& rows, std::int64_t max_batches,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

// Pseudo-likelihood (Wang & Cho 2019; Salazar et al. 2020): each token of the text that is not special is masked alone
// in its window, and `batch` such rows are in one forward pass: Σ −ln P(token | the other tokens of its window). The
// perplexity of the result is the pseudo-perplexity.
Evaluation pseudo_likelihood(const MaskedLanguageModel& model, const MaskedBatcher& rows, std::int64_t batch,
                             const ProgressCallback& progress = {});

// The model's candidates for a masked position.
struct FilledMask {
  struct Candidate {
    std::int32_t id;
    double probability;
  };
  std::int64_t position;              // index of the position in the ids
  std::vector<Candidate> candidates;  // the most probable first
};
// The `top` most probable tokens for each [MASK] of a row, without the tokens in `except`. All masks are filled in one
// forward pass. `ids` is a whole row, with [CLS] and [SEP]. Throws Error when the model's predictions are not finite.
std::vector<FilledMask> fill_masks(const MaskedLanguageModel& model, std::span<const std::int32_t> ids,
                                   std::int32_t mask_token, std::int64_t top,
                                   std::span<const std::int32_t> except = {});

}  // namespace tapeformer
