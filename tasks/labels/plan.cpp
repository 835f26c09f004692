#include "tasks/labels/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "tasks/labels/label_task.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/sizes.h"
#include "tasks/plan/text_size.h"
#include "tasks/text/dummy_data.h"

namespace tapeformer {
namespace {

// Returns the number of tokens in a step on the random data with which steps are timed (dummy_examples()).
double dummy_tokens_of_step(const ResolvedConfig& config) {
  return static_cast<double>(config.train.batch * config.train.accumulate * kDummyLength);
}

// Chooses the family and the tokenizer of a model that learns from scratch.
void choose_encoder(PlanDraft& draft, const TextSize& text) {
  if (!draft.config().model.type_is_given)
    draft.choose("model.type", std::string("bert"), "an encoder sees both sides of a word");
  if (!draft.is_given("tokenizer.file")) {
    draft.choose("tokenizer.kind", std::string("bpe"), "it has no unknown words");
    if (draft.text("tokenizer.kind") == "bpe")
      draft.choose("tokenizer.vocab", vocab_for(text.bytes, tuning::kLabelVocab), describe(text));
  }
}

// Chooses the context of such a model, whose examples have `mean` tokens on average.
void choose_example_context(PlanDraft& draft, double mean) {
  draft.choose(
      "model.context",
      power_of_two(tuning::kSentenceContext * mean, tuning::kLeastSentenceContext, tuning::kMostSentenceContext),
      fmt::format("examples have about {:.0f} tokens", mean));
}

}  // namespace

Plan plan_labels(const PlanRequest& request) {
  PlanDraft draft(request);
  choose_clock(draft);
  const Config::Data& files = request.given.data;
  const LabelTask& task = find_label_task(request.given.task.kind);
  const bool words = !task.pooled && !task.extracts_span;  // a line is a word, and an empty line ends a sentence
  const TextSize text = size_of_files({files.labels});
  const double examples = std::max(1.0, words && text.empty_lines > 0 ? text.empty_lines : text.lines);
  if (draft.from_scratch()) choose_encoder(draft, text);
  const double of_token = token_bytes(draft.config().tokenizer, text);
  if (draft.from_scratch()) choose_example_context(draft, text.bytes / examples / of_token);
  draft.choose(tuning::kLabelKeys);
  draft.choose("train.batch", tuning::kLabelBatch, fmt::format("{} examples", amount(examples)));
  const double share = files.valid_labels.empty() ? files.valid_fraction : 0;
  const double valid = share > 0                    ? share * text.bytes
                       : files.valid_labels.empty() ? 0
                                                    : size_of_files({files.valid_labels}).bytes;
  const DataSize data{.unique = std::max(1.0, (1 - share) * text.bytes / of_token), .validation = valid / of_token};
  SizedDraft sized = choose_size(draft, tuning::kEncoderSizes, data, dummy_tokens_of_step, [&](PlanDraft& tried) {
    const RateRule scratch{.adam = tuning::kLabelRate, .adam_power = tuning::kLabelPower};
    const RateRule tuned{
        .adam = tuning::kTunedLabelRate, .adam_power = tuning::kTunedLabelPower, .muon = tuning::kTunedMuonRate};
    choose_rates(tried, tried.tunes_weights() ? tuned : scratch);
  });
  choose_matmul(sized, dummy_tokens_of_step);
  const double rows = static_cast<double>(sized.draft.integer("train.batch") * sized.draft.integer("train.accumulate"));
  choose_dropout(sized, data, tuning::kLabelDropout);
  choose_by_speed(sized, data, rows * text.bytes / examples / of_token);
  return std::move(sized.draft).plan();
}

}  // namespace tapeformer
