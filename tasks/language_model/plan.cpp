#include "tasks/language_model/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/sizes.h"
#include "tasks/plan/text_size.h"

namespace tapeformer {
namespace {

double tokens_of_step(const ResolvedConfig& config) {
  return static_cast<double>(config.train.batch * config.train.accumulate * config.block_size());
}

// The training and the validation text, in tokens.
struct TextInTokens {
  TextSize size;
  double token_bytes;
  DataSize data;
  bool own_validation;  // data.valid, not a part of the text
};

// Says into what `text` is split, in tokens.
TextInTokens in_tokens(const PlanDraft& draft, const TextSize& text) {
  const Config& config = draft.config();
  TextInTokens result{.size = text, .token_bytes = token_bytes(config, text), .data = {}, .own_validation = false};
  const double all = text.bytes / result.token_bytes;
  result.own_validation = !config.data.valid.empty();
  const double share = result.own_validation ? 0 : config.data.valid_fraction;
  result.data = {.unique = all * (1 - share), .validation = all * share};
  if (result.own_validation) result.data.validation = size_of_files(config.data.valid).bytes / result.token_bytes;
  return result;
}

void choose_context(PlanDraft& draft, const TextInTokens& text) {
  const std::int64_t context = context_for(draft.request().minutes, text.data.unique);
  if (context == 0 && !draft.is_given("model.context")) {
    fail_usage("--minutes: expected at least ", tuning::kLeastContext * tuning::kLeastRows,
               " tokens of text, got about ", static_cast<std::int64_t>(text.data.unique));
  }
  draft.choose(
      "model.context", context,
      fmt::format("{:g} min, and {} tokens of training text", draft.request().minutes, amount(text.data.unique)));
}

void choose_batch(PlanDraft& draft, double step_tokens, std::string reason) {
  const std::int64_t row = draft.integer("train.accumulate") * draft.integer("model.context");
  const std::int64_t rows = static_cast<std::int64_t>(step_tokens) / row;
  draft.choose("train.batch", std::max<std::int64_t>(rows, 1), std::move(reason));
}

// Holds out less of a long text, so that its evaluations take no more than their share of the time.
void choose_validation(SizedDraft& sized, TextInTokens& text) {
  const double most = most_validation(sized.tokens);
  if (text.data.validation <= most || sized.draft.number("data.valid_fraction") == 0) return;
  const std::string reason =
      fmt::format("{} tokens are evaluated in {:.0f} % of the time", amount(most), 100 * tuning::kEvaluationShare);
  if (text.own_validation || sized.draft.is_given("data.valid_fraction")) {
    const double batches = most / tokens_of_step(sized.draft.resolved());
    sized.draft.choose("eval.batches", std::max<std::int64_t>(round_number(batches), 1), reason);
    text.data.validation = most;
    return;
  }
  const double all = text.data.unique + text.data.validation;
  sized.draft.choose("data.valid_fraction", two_digits(most / all), reason);
  text.data = {.unique = all - most, .validation = most};
}

}  // namespace

Plan plan_language_model(const PlanRequest& request) {
  PlanDraft draft(request);
  if (draft.text("model.type") != "gpt") {
    fail_usage("--minutes: expected gpt as model.type of a language model, got ", draft.text("model.type"));
  }
  const TextSize size = size_of_text(request.given.data);
  choose_clock(draft);
  choose_text_tokenizer(draft, size);
  TextInTokens text = in_tokens(draft, size);
  choose_context(draft, text);
  draft.choose(tuning::kGptKeys);
  choose_batch(draft, static_cast<double>(tuning::kFirstStepTokens), "");
  SizedDraft sized = choose_size(draft, tuning::kGptLadder, text.data, tokens_of_step,
                                 [](PlanDraft& tried) { choose_rates(tried, tuning::kAdamRate, tuning::kAdamPower); });
  choose_batch(sized.draft, static_cast<double>(step_tokens_for(sized.tokens)),
               fmt::format("{} tokens in about {:.0f} steps", amount(sized.tokens), tuning::kWantedSteps));
  choose_matmul(sized, tokens_of_step);
  choose_validation(sized, text);
  choose_by_speed(sized, text.data, tokens_of_step(sized.draft.resolved()), {.dropout = tuning::kTextDropout});
  return std::move(sized.draft).plan();
}

}  // namespace tapeformer
