// Evaluates how well a bidirectional language model predicts the tokens of a text.
#pragma once

#include "tasks/bidirectional_language_model/bidirectional_language_model.h"
#include "tasks/text/text_evaluation.h"

namespace tapeformer {

// Puts a batch of rows of T targets on a tape as ids i32 (rows, T + 1): each row has the first input of the batch's
// row, followed by the row's scored targets.
Batch text_rows(Tape& tape, const TextBatch& batch);

// Scores the tokens by windows of `options.context` + 1 tokens, each beginning with the last token of the window
// before. So the forward prediction scores every token but the first once, and the backward prediction every token but
// the last. Evaluation::parts has the result of each direction under its name. Throws Error for fewer than two tokens,
// UsageError for windows that the model cannot read, and for a stride other than the context. Ranks share the batches,
// and all return the whole result.
Evaluation evaluate(const BidirectionalLanguageModel& model, TokenView tokens, const WindowOptions& options,
                    const ProgressCallback& progress = {}, Communicator& ranks = Communicator::alone());

}  // namespace tapeformer
