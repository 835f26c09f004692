#include "tasks/labels/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

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
  std::vector<double> bytes;  // of each text

  double count() const { return static_cast<double>(bytes.size()); }
};

ExamplesSize size_of_examples(const std::string& file, const Config& config) {
  require_files({file});
  const LabelTask& task = find_label_task(config.task.kind);
  const LabelledFile labelled = task.functions.read(file, config.data.labelled_file_options());
  check(!labelled.examples.empty(), file, ": expected examples with labels, got none");
  TextSum texts;
  std::vector<double> bytes;
  for (const LabelledExample& example : labelled.examples) {
    const std::string text = joined(example.pieces, " ") + '\n';
    texts.add(text);
    bytes.push_back(static_cast<double>(text.size()));
  }
  return {texts.size(), std::move(bytes)};
}

// The rows that a training reads. An example that is longer than the context is cut off there or, where each word has a
// label, becomes several rows (RowEncoder).
struct RowsSize {
  double count = 0, tokens = 0;
};

RowsSize size_of_rows(const ExamplesSize& examples, double of_token, const PlanDraft& draft) {
  const LabelTask& task = find_label_task(draft.config().task.kind);
  const bool is_cut = task.pooled || task.extracts_span;
  // Only models with attention have a longest row; in others model.context is something else.
  const double most = draft.has("model.heads") ? static_cast<double>(draft.integer("model.context"))
                                               : std::numeric_limits<double>::infinity();
  RowsSize rows;
  for (const double bytes : examples.bytes) {
    const double tokens = bytes / of_token;
    rows.count += is_cut ? 1 : std::max(1.0, std::ceil(tokens / most));
    rows.tokens += is_cut ? std::min(tokens, most) : tokens;
  }
  return rows;
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
  const ExamplesSize examples = size_of_examples(files.labels, request.given);
  const TextSize& text = examples.text;
  if (draft.from_scratch()) choose_encoder(draft, text);
  const double of_token = token_size(draft.config().tokenizer, text).bytes;
  if (draft.from_scratch()) choose_example_context(draft, text.bytes / examples.count() / of_token);
  draft.choose(tuning::kLabelKeys);
  draft.choose("train.batch", tuning::kLabelBatch, fmt::format("{} examples", amount(examples.count())));
  const RowsSize rows = size_of_rows(examples, of_token, draft);
  std::optional<double> valid;
  if (!files.valid_labels.empty())
    valid = size_of_rows(size_of_examples(files.valid_labels, request.given), of_token, draft).tokens;
  DataSize data = data_size(rows.tokens, valid, files.valid_fraction);
  SizedDraft sized = choose_size(draft, tuning::kEncoderSizes, data, dummy_tokens_of_step, [&](PlanDraft& tried) {
    const RateRule scratch{.adam = tuning::kLabelRate, .adam_power = tuning::kLabelPower};
    const RateRule frozen{.adam = tuning::kFrozenLabelRate, .adam_power = tuning::kLabelPower};
    const RateRule tuned{
        .adam = tuning::kTunedLabelRate, .adam_power = tuning::kTunedLabelPower, .muon = tuning::kTunedMuonRate};
    choose_rates(tried, tried.from_scratch() ? scratch : tried.tunes_weights() ? tuned : frozen);
  });
  choose_matmul(sized, dummy_tokens_of_step);
  const double of_batch = static_cast<double>(sized.draft.integer("train.batch")) * rows.tokens / rows.count;
  choose_validation(sized, data, of_batch, {});
  choose_dropout(sized, data, tuning::kLabelDropout);
  choose_by_speed(sized, data, static_cast<double>(sized.draft.integer("train.accumulate")) * of_batch);
  return std::move(sized.draft).plan();
}

}  // namespace tapeformer
