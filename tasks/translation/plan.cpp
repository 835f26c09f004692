#include "tasks/translation/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/sizes.h"
#include "tasks/plan/text_size.h"
#include "tasks/text/dummy_data.h"

namespace tapeformer {
namespace {

double target_tokens_of_step(const ResolvedConfig& config) {
  const Config::Train& train = config.train;
  const std::int64_t rows = train.batch_tokens > 0 ? train.batch_tokens : train.batch * kDummyLength;
  return static_cast<double>(rows * train.accumulate);
}

// The target side of some parallel text.
struct TargetSize {
  TextSize text;
  double sentences = 0;

  double mean(double all) const { return all / std::max(sentences, 1.0); }
};

// `whole`: whether the text has both sides, of which the target is taken to be one half.
TargetSize target_size(TextSize text, bool whole) {
  const double sentences = text.lines;
  if (whole) text.bytes /= 2, text.characters /= 2;
  return {std::move(text), sentences};
}

TargetSize training_pairs(const Config::Data& data) {
  if (!data.target.empty()) return target_size(size_of_files({data.target}), false);
  return target_size(data.pairs.empty() ? size_of_text(data) : size_of_files({data.pairs}), true);
}

std::optional<TargetSize> validation_pairs(const Config::Data& data) {
  if (!data.valid_target.empty()) return target_size(size_of_files({data.valid_target}), false);
  if (!data.valid_pairs.empty()) return target_size(size_of_files({data.valid_pairs}), true);
  return std::nullopt;
}

void choose_pair_tokenizer(PlanDraft& draft, const TargetSize& target) {
  if (draft.is_given("tokenizer.file")) return;
  const double characters = target.mean(target.text.characters);
  const bool short_ones = characters <= tuning::kCharSentence;
  const std::string reason =
      fmt::format("{} pairs of sentences, of about {:.0f} characters", amount(target.sentences), characters);
  draft.choose("tokenizer.kind", std::string(short_ones ? "char" : "bpe"), reason);
  if (draft.text("tokenizer.kind") != "bpe") return;
  draft.choose("tokenizer.vocab", vocab_for(target.sentences, tuning::kPairVocab), reason);
}

// A joint tokenizer learns from both sides; otherwise the target side has one of its own.
double target_token_bytes(const Config& config, const TextSize& target) {
  Config::Tokenizer tokenizer = config.tokenizer;
  if (!tokenizer.joint) tokenizer.file = tokenizer.target_file;
  const bool apart = tokenizer.joint && tokenizer.file.empty() && !config.data.source.empty();
  return token_bytes(tokenizer, target, apart ? size_of_files({config.data.source}).sample : "");
}

// Chooses the number of micro-steps in a step: fewer in a short training, so that it still has enough steps.
void choose_micro_steps(PlanDraft& draft, double tokens) {
  const std::int64_t batch = std::max<std::int64_t>(draft.integer("train.batch_tokens"), 1);
  const std::int64_t micro_steps = std::clamp<std::int64_t>(
      step_tokens_for(tokens, tuning::kFewestPairStepTokens) / batch, 1, tuning::kMostPairMicroSteps);
  draft.choose(
      "train.accumulate", micro_steps,
      steps_reason(tokens, static_cast<double>(micro_steps * batch)) + "; each micro-step has a length of its own");
}

// Chooses when BLEU is computed, and of how many sentences.
void choose_bleu(PlanDraft& draft, double steps) {
  const double minutes = draft.request().minutes;
  const std::int64_t every = std::max<std::int64_t>(draft.integer("eval.every"), 1);
  const double evaluations = steps / static_cast<double>(every) / static_cast<double>(tuning::kBleuScores);
  draft.choose("eval.bleu_every", every * std::max<std::int64_t>(static_cast<std::int64_t>(evaluations), 1),
               fmt::format("about {} times", tuning::kBleuScores));
  draft.choose("eval.bleu_sentences",
               std::clamp(round_number(minutes * tuning::kBleuSentencesOfMinute), tuning::kFewestBleuSentences,
                          tuning::kMostBleuSentences),
               fmt::format("{:.0f} for each minute", tuning::kBleuSentencesOfMinute));
}

}  // namespace

Plan plan_translation(const PlanRequest& request) {
  PlanDraft draft(request);
  if (draft.text("model.type") != "transformer") {
    fail_usage("--minutes: expected transformer as model.type of an encoder-decoder, got ", draft.text("model.type"));
  }
  if (draft.is_given("train.batch")) {
    fail_usage(
        "--minutes: expected train.batch_tokens, by which batches of parallel text are filled, got train.batch = ",
        draft.integer("train.batch"));
  }
  choose_clock(draft, tuning::kTranslationCooldown);
  const TargetSize target = training_pairs(request.given.data);
  choose_pair_tokenizer(draft, target);
  const double of_token = target_token_bytes(draft.config(), target.text);
  // Each sentence has an end.
  const auto tokens = [&](const TargetSize& size) { return size.text.bytes / of_token + size.sentences; };
  const std::optional<TargetSize> valid = validation_pairs(request.given.data);
  const double share = valid ? 0 : request.given.data.valid_fraction;
  DataSize data{.unique = std::max(1.0, tokens(target) * (1 - share)),
                .validation = valid ? tokens(*valid) : tokens(target) * share};
  const double mean = target.mean(tokens(target));
  draft.choose(
      "model.context",
      power_of_two(tuning::kSentenceContext * mean, tuning::kLeastSentenceContext, tuning::kMostSentenceContext),
      fmt::format("sentences have about {:.0f} tokens", mean));
  draft.choose(tuning::kTranslationKeys);
  if (!draft.from_scratch()) draft.choose(tuning::kFineTuningKeys);
  const bool muon = draft.text("optimizer.name") == "muon";
  if (muon) draft.choose(tuning::kTranslationMuonKeys);
  draft.choose("train.accumulate", tuning::kMostPairMicroSteps, "");
  SizedDraft sized = choose_size(draft, tuning::kTranslationSizes, data, target_tokens_of_step, [&](PlanDraft& tried) {
    tried.choose("model.ff_dim", tuning::kTranslationFf * tried.integer("model.dim"), "narrow, for little data");
    choose_rates(tried, {.adam = muon ? tuning::kAdamRate : tuning::kTranslationRate,
                         .adam_power = muon ? tuning::kAdamPower : tuning::kTranslationPower});
  });
  choose_matmul(sized, target_tokens_of_step);
  choose_micro_steps(sized.draft, sized.tokens);
  const double step_tokens = target_tokens_of_step(sized.draft.resolved());
  if (const std::int64_t batches = sized.draft.integer("eval.batches"); batches > 0) {  // each is a micro-step
    const auto micro_steps = static_cast<double>(sized.draft.integer("train.accumulate"));
    data.validation = std::min(data.validation, static_cast<double>(batches) * step_tokens / micro_steps);
  }
  if (sized.draft.from_scratch()) {
    choose_dropout(sized, data, tuning::kPairDropout);
  } else {
    choose_tuned_rates(sized, data);
  }
  choose_by_speed(sized, data, step_tokens, tuning::kTranslationWarmupShare);
  choose_bleu(sized.draft, sized.tokens / step_tokens);
  return std::move(sized.draft).plan();
}

}  // namespace tapeformer
