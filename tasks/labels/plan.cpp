#include "tasks/labels/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/joined.h"
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

// The texts of some examples, as a tokenizer learns from them, each with a line end.
struct ExamplesSize {
  TextSize text;
  double count = 0;
};

ExamplesSize size_of_examples(const std::string& file, const Config& config) {
  require_files({file});
  const LabelTask& task = find_label_task(config.task.kind);
  const LabelledFile labelled = task.functions.read(file, config.data.labelled_file_options());
  check(!labelled.examples.empty(), file, ": expected examples with labels, got none");
  TextSum texts;
  for (const LabelledExample& example : labelled.examples) texts.add(joined(example.pieces, " ") + '\n');
  return {texts.size(), static_cast<double>(labelled.examples.size())};
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
  const auto [text, examples] = size_of_examples(files.labels, request.given);
  if (draft.from_scratch()) choose_encoder(draft, text);
  const double of_token = token_size(draft.config().tokenizer, text).bytes;
  if (draft.from_scratch()) choose_example_context(draft, text.bytes / examples / of_token);
  draft.choose(tuning::kLabelKeys);
  draft.choose("train.batch", tuning::kLabelBatch, fmt::format("{} examples", amount(examples)));
  const double share = files.valid_labels.empty() ? files.valid_fraction : 0;
  const double valid = share > 0                    ? share * text.bytes
                       : files.valid_labels.empty() ? 0
                                                    : size_of_examples(files.valid_labels, request.given).text.bytes;
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
