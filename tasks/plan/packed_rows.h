// What plans of a gpt share: it reads rows of model.context tokens, in which texts or conversations follow each other.
#pragma once

#include "tasks/plan/sizes.h"

namespace tapeformer {

// Throws UsageError for another family. `what` is what the model is called: "a language model".
void require_gpt(const PlanDraft& draft, std::string_view what);

// The tokens that a step reads.
double tokens_of_step(const ResolvedConfig& config);
// The tokens that a batch of an evaluation reads, which is as large as a micro-step.
double tokens_of_evaluation_batch(const ResolvedConfig& config);

// Chooses today's blocks and the optimizer (tuning::kGptKeys, kFineTuningKeys), the model's size, the rates, the batch,
// and the precision of products, for a tokenizer of `vocab` tokens.
SizedDraft choose_gpt(PlanDraft draft, const DataSize& data, std::int64_t vocab);

// Chooses the dropout, or the rates of weights that go on learning, and what else depends on the speed and the data.
// `rates` are those of such weights. Returns the finished plan.
Plan finish_gpt(SizedDraft sized, const DataSize& data, const tuning::TunedRates& rates = tuning::kTunedText);

}  // namespace tapeformer
