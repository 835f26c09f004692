#include "tasks/translation/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/lines.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/sizes.h"
#include "tasks/plan/text_size.h"
#include "tasks/text/dummy_data.h"

namespace tapeformer {
namespace {

// The positions of a step for sources, and as many for targets.
double positions_of_step(const ResolvedConfig& config) {
  const Config::Train& train = config.train;
  const std::int64_t rows = train.batch_tokens > 0 ? train.batch_tokens : train.batch * kDummyLength;
  return static_cast<double>(rows * train.accumulate);
}

// Some parallel text.
struct PairSize {
  TextSize source, target;
  double sentences = 0;

  double mean(double all) const { return all / std::max(sentences, 1.0); }
};

PairSize size_of_sides(const std::string& source, const std::string& target) {
  TextSize of_target = size_of_files({target});
  const double sentences = of_target.lines;
  return {size_of_files({source}), std::move(of_target), sentences};
}

// Cuts a text whose lines are source, tab, target.
PairSize size_of_pairs(const TextSize& text) {
  std::string source, target;
  for_each_line(text.sample, [&](std::string_view line, std::size_t) {
    const std::size_t tab = std::min(line.find('\t'), line.size());
    source.append(line.substr(0, tab)) += '\n';
    target.append(line.substr(std::min(tab + 1, line.size()))) += '\n';
  });
  const double times = text.bytes / static_cast<double>(text.sample.size());
  return {size_of_sample(std::move(source), times), size_of_sample(std::move(target), times), text.lines};
}

PairSize training_pairs(const Config::Data& data) {
  if (!data.target.empty()) return size_of_sides(data.source, data.target);
  return size_of_pairs(data.pairs.empty() ? size_of_text(data) : size_of_files({data.pairs}));
}

std::optional<PairSize> validation_pairs(const Config::Data& data) {
  if (!data.valid_target.empty()) return size_of_sides(data.valid_source, data.valid_target);
  if (!data.valid_pairs.empty()) return size_of_pairs(size_of_files({data.valid_pairs}));
  return std::nullopt;
}

void choose_pair_tokenizer(PlanDraft& draft, const PairSize& pairs) {
  if (draft.is_given("tokenizer.file")) return;
  const double bytes = pairs.mean(pairs.source.bytes + pairs.target.bytes) / 2;
  const bool short_ones = bytes <= tuning::kCharSentence;
  const std::string reason =
      fmt::format("{} pairs of sentences, of about {:.0f} bytes", amount(pairs.sentences), bytes);
  draft.choose("tokenizer.kind", std::string(short_ones ? "char" : "bpe"), reason);
  if (draft.text("tokenizer.kind") != "bpe") return;
  draft.choose("tokenizer.vocab", vocab_for(pairs.sentences, tuning::kPairVocab), reason);
}

// The tokens of each side. A joint tokenizer learns from both sides; otherwise each has one of its own.
struct SideTokens {
  TokenSize source, target;
};

SideTokens side_tokens(const Config& config, const PairSize& pairs) {
  Config::Tokenizer of_target = config.tokenizer;
  if (!of_target.joint) of_target.file = of_target.target_file;
  const auto also = [&](const TextSize& other) { return of_target.joint ? other.sample : std::string(); };
  return {.source = token_size(config.tokenizer, pairs.source, also(pairs.target)),
          .target = token_size(of_target, pairs.target, also(pairs.source))};
}

// Chooses the number of micro-steps in a step: fewer in a short training, so that it still has enough steps. `tokens`
// and `filled`: of targets, as plan_translation() has them.
void choose_micro_steps(PlanDraft& draft, double tokens, double filled) {
  const std::int64_t batch = std::max<std::int64_t>(draft.integer("train.batch_tokens"), 1);
  const std::int64_t micro_steps = std::clamp<std::int64_t>(
      step_tokens_for(tokens / filled, tuning::kFewestPairStepTokens) / batch, 1, tuning::kMostPairMicroSteps);
  draft.choose("train.accumulate", micro_steps,
               steps_reason(tokens, filled * static_cast<double>(micro_steps * batch)) +
                   "; each micro-step has a length of its own");
}

// Chooses when BLEU is computed, and of how many sentences.
void choose_bleu(PlanDraft& draft, double steps) {
  const double minutes = draft.request().minutes;
  const std::int64_t every = std::max<std::int64_t>(draft.integer("eval.every"), 1);
  const double evaluations = steps / static_cast<double>(every) / static_cast<double>(tuning::kBleuScores);
  const std::int64_t bleu_every = every * std::max<std::int64_t>(static_cast<std::int64_t>(evaluations), 1);
  draft.choose("eval.bleu_every", bleu_every, fmt::format("about {} times", times_of(bleu_every, steps)));
  const std::int64_t wanted = round_number(minutes * tuning::kBleuSentencesOfMinute);
  const std::int64_t sentences = std::clamp(wanted, tuning::kFewestBleuSentences, tuning::kMostBleuSentences);
  const std::string limit =
      sentences == wanted ? "" : str_cat(sentences > wanted ? ", at least " : ", at most ", sentences);
  draft.choose("eval.bleu_sentences", sentences,
               fmt::format("{:.0f} for each minute{}", tuning::kBleuSentencesOfMinute, limit));
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
  const PairSize pairs = training_pairs(request.given.data);
  choose_pair_tokenizer(draft, pairs);
  const SideTokens of_token = side_tokens(draft.config(), pairs);
  draft.set_vocab(std::max(of_token.source.vocab, of_token.target.vocab));
  // Each sentence has an end.
  const auto tokens = [&](const PairSize& size) { return size.target.bytes / of_token.target.bytes + size.sentences; };
  std::optional<double> valid;
  if (const auto size = validation_pairs(request.given.data)) valid = tokens(*size);
  DataSize data = data_size(tokens(pairs), valid, request.given.data.valid_fraction);
  const double of_source = pairs.mean(pairs.source.bytes / of_token.source.bytes + pairs.sentences),
               of_target = pairs.mean(tokens(pairs));
  draft.choose("model.context",
               power_of_two(tuning::kSentenceContext * std::max(of_source, of_target), tuning::kLeastSentenceContext,
                            tuning::kMostSentenceContext),
               fmt::format("sources have about {:.0f} tokens, targets {:.0f}", of_source, of_target));
  draft.choose(tuning::kTranslationKeys);
  if (!draft.from_scratch()) draft.choose(tuning::kFineTuningKeys);
  const bool muon = draft.text("optimizer.name") == "muon";
  if (muon) draft.choose(tuning::kTranslationMuonKeys);
  draft.choose("train.accumulate", tuning::kMostPairMicroSteps, "");
  // Sources that are longer than their targets fill a batch, and the targets only this part of it.
  const double filled = std::min(1.0, of_target / of_source);
  const auto tokens_of_step = [&](const ResolvedConfig& config) { return filled * positions_of_step(config); };
  SizedDraft sized = choose_size(draft, tuning::kTranslationSizes, data, tokens_of_step, [&](PlanDraft& tried) {
    tried.choose("model.ff_dim", tuning::kTranslationFf * tried.integer("model.dim"), "narrow, for little data");
    choose_rates(tried, {.adam = muon ? tuning::kAdamRate : tuning::kTranslationRate,
                         .adam_power = muon ? tuning::kAdamPower : tuning::kTranslationPower});
  });
  choose_matmul(sized, tokens_of_step);
  choose_micro_steps(sized.draft, sized.tokens, filled);
  const double step_tokens = tokens_of_step(sized.draft.resolved());
  const double of_batch = step_tokens / static_cast<double>(sized.draft.integer("train.accumulate"));
  choose_validation(sized, data, of_batch, {.key = "eval.batches", .tokens = of_batch});
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
