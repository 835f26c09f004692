// Measures how well a text encoder predicts the tokens of a text.
#pragma once

#include <string>

#include "nn/interfaces/text_encoder.h"
#include "tasks/text/text_evaluation.h"

namespace tapeformer {

// The rows of a batch as values on a tape: of each row the first input, and behind it the targets that are scored.
EncoderBatch text_rows(Tape& tape, const Batch& batch);

// Scores the tokens by windows of `options.context` + 1 tokens, each beginning with the last token of the one before.
// So a prediction of what follows scores every token but the first one once, and a prediction of what was before every
// token but the last one. Evaluation::parts has each prediction by its name. Throws Error for fewer than two tokens,
// UsageError for windows that the model cannot read, and for a stride other than the context.
// Ranks share the batches, and all return the whole.
Evaluation evaluate(const BidirectionalLanguageModel& model, TokenView tokens, const WindowOptions& options,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

// A sentence that says what the model's loss is.
std::string loss_description(const BidirectionalLanguageModel& model);

}  // namespace tapeformer
