#include "tasks/plan/packed_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/memory.h"
#include "tasks/plan/rules.h"

namespace tapeformer {
namespace {

// Chooses today's blocks, as far as they go with the keys that are given, and the optimizer.
void choose_blocks(PlanDraft& draft) {
  draft.choose(tuning::kGptKeys);
  if (!draft.from_scratch()) draft.choose(tuning::kFineTuningKeys);
  if (draft.text("model.attention_kind") == "linear") {
    draft.choose("model.position", std::string("sinusoidal"), "linear attention cannot rotate queries and keys");
  }
}

// Chooses the learning rates for a model of the width that the draft has and this vocabulary.
void choose_rates_for_vocab(PlanDraft& draft, std::int64_t vocab) {
  const double share = draft.text("optimizer.name") == "muon" ? vocab_rate_share(vocab) : 1;
  choose_rates(draft,
               {.adam = share * tuning::kAdamRate,
                .adam_power = tuning::kAdamPower,
                .adam_reason = share < 1 ? fmt::format(", and {:.2g} of that for a small vocabulary", share) : ""});
}

// Chooses the rows of a batch for a training of so many tokens.
void choose_batch(PlanDraft& draft, std::int64_t step_tokens, double tokens) {
  const std::int64_t row = draft.integer("train.accumulate") * draft.integer("model.context");
  const std::int64_t rows = std::max<std::int64_t>(step_tokens / row, 1);
  draft.choose("train.batch", rows, steps_reason(tokens, static_cast<double>(rows * row)));
}

// Cuts a step into micro-steps where its activations would take too much memory.
void choose_micro_steps(PlanDraft& draft, std::int64_t step_tokens) {
  if (draft.is_given("train.batch")) return;
  const std::int64_t micro_steps =
      micro_steps_for(step_tokens, draft.integer("model.context"), draft.integer("model.layers"),
                      draft.integer("model.dim"), machine_memory_bytes());
  if (micro_steps == 1) return;
  draft.choose("train.accumulate", micro_steps,
               fmt::format("the activations of {} tokens take up to {:.0f} % of the memory",
                           amount(static_cast<double>(step_tokens / micro_steps)), 100 * tuning::kMemoryShare));
}

}  // namespace

void require_gpt(const PlanDraft& draft, std::string_view what) {
  if (const std::string type = draft.text("model.type"); type != "gpt")
    fail_usage("--minutes: expected gpt as model.type of ", what, ", got ", type);
}

double tokens_of_step(const ResolvedConfig& config) {
  return static_cast<double>(config.train.batch * config.train.accumulate * config.block_size());
}

double tokens_of_evaluation_batch(const ResolvedConfig& config) {
  return static_cast<double>(config.train.batch * config.block_size());
}

SizedDraft choose_gpt(PlanDraft draft, const DataSize& data, std::int64_t vocab) {
  choose_blocks(draft);
  choose_batch(draft, tuning::kFirstStepTokens, 0);
  SizedDraft sized = choose_size(draft, tuning::kGptSizes, data, tokens_of_step,
                                 [&](PlanDraft& tried) { choose_rates_for_vocab(tried, vocab); });
  const std::int64_t step_tokens = step_tokens_for(sized.tokens, tuning::kFewestStepTokens);
  choose_micro_steps(sized.draft, step_tokens);
  choose_batch(sized.draft, step_tokens, sized.tokens);
  choose_matmul(sized, tokens_of_step);
  return sized;
}

Plan finish_gpt(SizedDraft sized, const DataSize& data, const tuning::TunedRates& rates) {
  if (sized.draft.from_scratch()) {
    choose_dropout(sized, data, tuning::kTextDropout);
  } else {
    choose_tuned_rates(sized, data, rates);
  }
  choose_by_speed(sized, data, tokens_of_step(sized.draft.resolved()));
  return std::move(sized.draft).plan();
}

}  // namespace tapeformer
