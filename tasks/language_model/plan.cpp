#include "tasks/language_model/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/memory.h"
#include "data/text/text_files.h"
#include "data/text/text_source.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/sizes.h"
#include "tasks/plan/text_size.h"

namespace tapeformer {
namespace {

double tokens_of_step(const ResolvedConfig& config) {
  return static_cast<double>(config.train.batch * config.train.accumulate * config.block_size());
}

// The size of the training text; is_utf8 is of the validation text too, which the tokenizer has to encode as well.
TextSize size_of_texts(const Config::Data& data) {
  TextSize size = size_of_text(data);
  size.is_utf8 = size.is_utf8 && (data.valid.empty() || size_of_files(data.valid).is_utf8);
  return size;
}

DataSize in_tokens(const Config& config, const TextSize& text) {
  const double of_token = token_bytes(config.tokenizer, text), all = text.bytes / of_token;
  const double worth = token_worth(vocab_size(config, text));
  if (!config.data.valid.empty()) {
    const double validation = size_of_files(config.data.valid).bytes / of_token;
    return {.unique = all, .validation = validation, .token_worth = worth};
  }
  const double share = config.data.valid_fraction;
  return {.unique = all * (1 - share), .validation = all * share, .token_worth = worth};
}

void choose_context(PlanDraft& draft, const DataSize& data, const TextSize& text) {
  const std::int64_t context = context_for(draft.request().minutes, data.unique);
  if (context == 0 && !draft.is_given("model.context")) {
    fail_usage("--minutes: expected at least ", tuning::kLeastContext * tuning::kLeastRows,
               " tokens of text, got about ", static_cast<std::int64_t>(data.unique), ", of ", describe(text));
  }
  draft.choose("model.context", context,
               fmt::format("{:g} min, and {} tokens of training text", draft.request().minutes, amount(data.unique)));
}

// The documents in a row say nothing about each other, so no token should attend to another document. A tokenizer that
// is given or comes with weights may lack the token that ends a document.
void choose_documents(PlanDraft& draft) {
  const Config& given = draft.request().given;
  if (!given.tokenizer.file.empty() || !draft.from_scratch()) return;
  if (!given.data.corpus.empty()) {
    draft.choose("data.document", std::string("line"), "each line of a generated corpus is a text of its own");
  }
  const Config::Data& data = draft.config().data;
  const bool documents = data.document != DocumentEnd::none ||
                         (data.corpus.empty() && FileText(expand_inputs(data.text), {}).has_documents());
  if (documents) draft.choose("data.within_document", true, "documents say nothing about each other");
}

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

void choose_batch(PlanDraft& draft, std::int64_t step_tokens, std::string reason) {
  const std::int64_t row = draft.integer("train.accumulate") * draft.integer("model.context");
  const std::int64_t rows = step_tokens / row;
  draft.choose("train.batch", std::max<std::int64_t>(rows, 1), std::move(reason));
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

// Keeps evaluations on a long text within their share of the time: holds out less of it or, if the user gave the
// validation data, scores only a part of that (eval.batches).
void choose_validation(SizedDraft& sized, DataSize& data) {
  const double most = most_validation(sized.tokens);
  if (data.validation <= most) return;
  const std::string reason =
      fmt::format("{} tokens are evaluated in {:.0f} % of the time", amount(most), 100 * tuning::kEvaluationShare);
  if (!sized.draft.config().data.valid.empty() || sized.draft.is_given("data.valid_fraction")) {
    const double batches = most / tokens_of_step(sized.draft.resolved());
    sized.draft.choose("eval.batches", std::max<std::int64_t>(round_number(batches), 1), reason);
    data.validation = most;
    return;
  }
  const double all = data.unique + data.validation;
  sized.draft.choose("data.valid_fraction", two_digits(most / all), reason);
  data.unique = all - most;
  data.validation = most;
}

}  // namespace

Plan plan_language_model(const PlanRequest& request) {
  PlanDraft draft(request);
  if (draft.text("model.type") != "gpt") {
    fail_usage("--minutes: expected gpt as model.type of a language model, got ", draft.text("model.type"));
  }
  const TextSize size = size_of_texts(request.given.data);
  choose_clock(draft);
  choose_documents(draft);
  choose_text_tokenizer(draft, size);
  DataSize data = in_tokens(draft.config(), size);
  choose_context(draft, data, size);
  choose_blocks(draft);
  choose_batch(draft, tuning::kFirstStepTokens, "");
  const std::int64_t vocab = vocab_size(draft.config(), size);
  SizedDraft sized = choose_size(draft, tuning::kGptLadder, data, tokens_of_step,
                                 [&](PlanDraft& tried) { choose_rates_for_vocab(tried, vocab); });
  const std::int64_t step_tokens = step_tokens_for(sized.tokens, tuning::kFewestStepTokens);
  choose_micro_steps(sized.draft, step_tokens);
  choose_batch(sized.draft, step_tokens,
               fmt::format("{} tokens in about {:.0f} steps", amount(sized.tokens), tuning::kWantedSteps));
  choose_matmul(sized, tokens_of_step);
  choose_validation(sized, data);
  if (sized.draft.from_scratch()) {
    choose_dropout(sized, data, tuning::kTextDropout);
  } else {
    choose_tuned_rates(sized, data);
  }
  choose_by_speed(sized, data, tokens_of_step(sized.draft.resolved()));
  return std::move(sized.draft).plan();
}

}  // namespace tapeformer
