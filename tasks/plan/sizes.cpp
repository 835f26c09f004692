#include "tasks/plan/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/text/numbers.h"
#include "tasks/plan/rules.h"
#include "train/config/matmul_config.h"

namespace tapeformer {
namespace {

// Weights, gradients and two moments, in f32.
constexpr double kBytesOfParameter = 16;
constexpr std::string_view kMatmulKey = "train.matmul";

// Chooses the keys of a size. If the user gave heads, or heads of keys and values, the width is a multiple of them.
void set_size(PlanDraft& draft, const tuning::ModelSize& size) {
  draft.choose("model.layers", size.layers, "");
  const auto given = [&](const char* key) {
    return draft.is_given(key) ? std::max<std::int64_t>(draft.integer(key), 1) : 1;
  };
  const std::int64_t kv_heads = given("model.kv_heads"), unit = 2 * std::lcm(given("model.heads"), kv_heads);
  draft.choose("model.dim", chunk_count(size.dim, unit) * unit, "");
  const std::int64_t width = draft.integer("model.dim"), heads = heads_for(width, kv_heads);
  draft.choose("model.heads", heads, fmt::format("each is {} wide", width / heads));
}

double loss_of(const SizedDraft& sized, const DataSize& data) {
  return predicted_loss(sized.parameters, data.token_worth * effective_tokens(sized.tokens, data.unique));
}

// Measures a step of the draft. The shortest time that was measured of it counts: in a longer one the machine was busy.
// Returns false if there is no time for it.
bool measure(SizedDraft& sized, const StepTokens& step_tokens) {
  const std::optional<double> seconds = sized.draft.step_seconds();
  if (!seconds) return false;
  sized.step_seconds = sized.step_seconds > 0 ? std::min(*seconds, sized.step_seconds) : *seconds;
  sized.tokens =
      steps_seconds(sized.draft.request().minutes) / sized.step_seconds * step_tokens(sized.draft.resolved());
  return true;
}

// Sets the reasons of the keys of the size that was taken.
void explain_size(SizedDraft& sized, const StepTokens& step_tokens) {
  PlanDraft& draft = sized.draft;
  const double speed = step_tokens(draft.resolved()) / sized.step_seconds;
  const std::string numbers =
      fmt::format("{} parameters beside embeddings read {} tokens/s", amount(sized.parameters), format_rate(speed));
  const std::string why = sized.tried > 1 ? fmt::format("least predicted loss of {} measured sizes", sized.tried)
                                          : std::string("the one size that was measured");
  const bool has_layers = draft.has("model.layers");
  const std::string reason = str_cat(why, ": ", numbers);
  if (has_layers) draft.choose("model.layers", draft.integer("model.layers"), reason);
  draft.choose("model.dim", draft.integer("model.dim"), has_layers ? "chosen with the layers" : reason);
}

// The numbers that products read, for the reasons of plans.
std::string_view numbers_of(MatmulSetting setting) {
  return setting == MatmulSetting::low ? "8 bits" : setting == MatmulSetting::highest ? "f32" : "bf16";
}

// Measures the steps of the draft with each setting of train.matmul, from the least exact to the first that is clearly
// slower than the one before it, twice in turn. Returns the shorter seconds of each: in the longer one the machine was
// busy. Those for which there is no time are left out.
std::vector<double> measure_steps(const PlanDraft& draft, std::span<const MatmulSetting> settings) {
  const auto measure = [&](MatmulSetting setting) {
    PlanDraft other = draft;
    other.choose(kMatmulKey, word_of(setting), "");
    return other.step_seconds();
  };
  std::vector<double> shortest;
  for (const MatmulSetting setting : settings) {
    const std::optional<double> seconds = measure(setting);
    if (!seconds) return shortest;
    const bool is_slower = !shortest.empty() && *seconds > tuning::kClearlyFaster * shortest.back();
    shortest.push_back(*seconds);
    if (is_slower) break;
  }
  for (std::size_t i = 0; i < shortest.size(); ++i) {
    if (const std::optional<double> seconds = measure(settings[i])) shortest[i] = std::min(shortest[i], *seconds);
  }
  return shortest;
}

}  // namespace

ParameterCounts count_parameters(const Module& model) {
  // The names of heads: the biases, norms and inner matrices of a head have the roles of those of blocks.
  constexpr std::string_view kHeads[] = {"head.", "next_sentence.", "task."};
  ParameterCounts counts;
  for (const NamedParameter& parameter : model.named_parameters()) {
    const std::int64_t count = parameter.variable.sizes().product();
    const ParameterKind kind = parameter.role.kind;
    counts.all += count;
    if (std::ranges::any_of(kHeads, [&](std::string_view head) { return parameter.name.starts_with(head); })) continue;
    if (kind == ParameterKind::matrix || kind == ParameterKind::vector) counts.non_embedding += count;
    if (kind == ParameterKind::matrix) counts.matrices += count;
  }
  return counts;
}

ParameterCounts count_parameters(const ResolvedConfig& config) {
  const ShapesOnly shapes;
  const std::int64_t vocab = config.tokenizer.vocab;
  return count_parameters(*config.family().make_module(config.model.options, {.source = vocab, .target = vocab}));
}

DataSize data_size(double all, const std::optional<double>& valid, double valid_fraction) {
  const double share = valid ? 0 : valid_fraction;
  return {.unique = std::max(1.0, (1 - share) * all), .validation = valid.value_or(share * all), .is_held_out = !valid};
}

double steps_seconds(double minutes) { return 60 * minutes * tuning::kStepsShare; }

std::string amount(double value) {
  if (value >= 1e9) return fmt::format("{:.3g} billion", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.3g} million", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.0f} thousand", value / 1e3);
  return fmt::format("{:.0f}", value);
}

std::string rough_amount(double value) {
  const double rough = two_digits(value);
  return rough < 100 ? fmt::format("{:g}", rough) : amount(rough);
}

std::string steps_reason(double tokens, double step_tokens) {
  constexpr double kAbout = 1.5;  // a step's tokens are the nearest power of two
  const double steps = tokens / step_tokens;
  const char* const limit = kAbout * steps < tuning::kWantedSteps   ? "least"
                            : steps > kAbout * tuning::kWantedSteps ? "most"
                                                                    : nullptr;
  const std::string of_steps = fmt::format("{} tokens in about {} steps", amount(tokens), amount(std::max(1.0, steps)));
  return limit ? fmt::format("{}, which have at {} {:.0f} tokens each", of_steps, limit, step_tokens) : of_steps;
}

std::int64_t times_of(std::int64_t every, double steps) {
  return std::max<std::int64_t>(std::llround(steps / static_cast<double>(every)), 1);
}

SizedDraft choose_size(const PlanDraft& draft, std::span<const tuning::ModelSize> sizes, const DataSize& data,
                       const StepTokens& step_tokens, const std::function<void(PlanDraft&)>& with_rates) {
  std::optional<SizedDraft> best;
  std::optional<Config> before;
  int tried = 0;
  PlanDraft fastest = draft;
  fastest.choose(kMatmulKey, word_of(fast_matmuls().front()), "");
  for (const tuning::ModelSize& size : sizes) {
    SizedDraft sized{.draft = fastest};
    set_size(sized.draft, size);
    with_rates(sized.draft);
    if (before == sized.draft.config()) continue;
    before = sized.draft.config();
    const ResolvedConfig config = sized.draft.resolved();
    const ParameterCounts counts = count_parameters(config);
    if (best && static_cast<double>(counts.all) * kBytesOfParameter >
                    tuning::kMemoryShare * static_cast<double>(machine_memory_bytes()))
      break;
    sized.parameters = static_cast<double>(counts.non_embedding);
    if (!measure(sized, step_tokens)) break;
    ++tried;
    const auto is_worse = [&] { return best && loss_of(sized, data) >= loss_of(*best, data); };
    // The machine may have been busy in one measurement, so each size has two.
    if (best) measure(*best, step_tokens);
    if (is_worse()) {
      measure(sized, step_tokens);
      if (is_worse()) break;
    }
    best = std::move(sized);
  }
  check(best.has_value(), "--minutes: there was no time to measure a step");
  best->tried = tried;
  explain_size(*best, step_tokens);
  return *std::move(best);
}

void choose_matmul(SizedDraft& sized, const StepTokens& step_tokens) {
  PlanDraft& draft = sized.draft;
  const bool is_given = draft.is_given(kMatmulKey);
  const std::vector<MatmulSetting> settings = is_given ? std::vector{draft.resolved().train.matmul} : fast_matmuls();
  const std::vector<double> seconds = measure_steps(draft, settings);
  std::size_t best = 0;
  std::string measured;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (tuning::kClearlyFaster * seconds[i] < seconds[best]) best = i;
    measured +=
        fmt::format("{}{:.3g} ms in {}", i == 0 ? "a step takes " : ", ", 1e3 * seconds[i], numbers_of(settings[i]));
  }
  if (!seconds.empty()) {
    sized.step_seconds = seconds[best];
    sized.tokens = steps_seconds(draft.request().minutes) / seconds[best] * step_tokens(draft.resolved());
  }
  const bool has_choice = settings.size() > 1;
  draft.choose(kMatmulKey, word_of(settings[best]),
               !has_choice        ? "f32: this CPU has no products in bf16"
               : measured.empty() ? str_cat(numbers_of(settings[best]), ": this CPU has such products")
                                  : measured);
}

void choose_validation(SizedDraft& sized, DataSize& data, double of_batch, const ValidationPart& part) {
  PlanDraft& draft = sized.draft;
  const double in_time = most_validation(sized.tokens), most = std::max(in_time, of_batch);
  if (data.validation > most && !draft.is_given("eval.batches") && !draft.is_given("data.valid_bytes")) {
    const std::string reason =
        amount(most) +
        (most > in_time ? " tokens are a batch, the least that is evaluated"
                        : fmt::format(" tokens are evaluated in {:.0f} % of the time", 100 * tuning::kEvaluationShare));
    if (data.is_held_out && !draft.is_given("data.valid_fraction")) {
      const double all = data.unique + data.validation;
      draft.choose("data.valid_fraction", two_digits(most / all), reason);
      data.unique = all - most;
      data.validation = most;
    } else if (!part.key.empty()) {
      draft.choose(part.key, std::max<std::int64_t>(round_number(most / part.tokens), 1), reason);
      data.validation = most;
    }
  }
  if (const std::int64_t batches = draft.integer("eval.batches"); batches > 0)
    data.validation = std::min(data.validation, static_cast<double>(batches) * of_batch);
}

void choose_dropout(SizedDraft& sized, const DataSize& data, const tuning::DropoutRule& rule) {
  const double epochs = sized.tokens / data.unique, parameters_per_token = sized.parameters / data.unique;
  const bool is_excess = rule.of_excess > 0 && parameters_per_token > 1;
  sized.draft.choose(
      "model.dropout", dropout_for(epochs, parameters_per_token, rule),
      fmt::format("{} tokens are about {} passes over the data{}", amount(sized.tokens), rough_amount(epochs),
                  is_excess ? fmt::format("; the model has {} parameters for each token of the data",
                                          rough_amount(parameters_per_token))
                            : ""));
}

void choose_by_speed(SizedDraft& sized, const DataSize& data, double step_tokens, double warmup_share) {
  PlanDraft& draft = sized.draft;
  const double steps = std::max(1.0, sized.tokens / step_tokens);
  const std::int64_t wanted = round_number(warmup_share * steps);
  draft.choose("schedule.warmup", std::clamp(wanted, tuning::kFewestWarmup, tuning::kMostWarmup),
               fmt::format("{:.0f} % of about {} steps, {}", 100 * warmup_share, amount(steps),
                           wanted > tuning::kMostWarmup ? fmt::format("at most {}", tuning::kMostWarmup)
                                                        : fmt::format("at least {}", tuning::kFewestWarmup)));
  const bool evaluates = data.validation > 0;
  const std::int64_t count = evaluates ? evaluations_for(sized.tokens, data.validation) : tuning::kFewestEvaluations;
  const std::int64_t round = std::max<std::int64_t>(draft.integer("train.sync_every"), 1);
  const std::int64_t every = chunk_count(round_number(steps / static_cast<double>(count)), round) * round;
  draft.choose("eval.every", every,  // whole rounds
               evaluates
                   ? fmt::format("about {} evaluations of {} tokens", times_of(every, steps), amount(data.validation))
                   : std::string("there is nothing to evaluate"));
  draft.choose("checkpoint.every", draft.integer("eval.every"), "a checkpoint after each evaluation");
  if (draft.request().minutes <= 2 * tuning::kCheckpointMinutes) return;
  draft.choose("checkpoint.every_minutes", tuning::kCheckpointMinutes, "what a crash loses at most");
}

void choose_rates(PlanDraft& draft, const RateRule& rule) {
  const std::int64_t dim = draft.integer("model.dim");
  const bool adapters = draft.integer("train.lora.rank") > 0;
  const std::string width = fmt::format("at a width of {}", dim);
  const std::string_view why = adapters                ? ", for adapters"
                               : draft.tunes_weights() ? ", for weights that are trained already"
                                                       : "";
  const double adam = rate_for(rule.adam * (adapters ? tuning::kAdapterRateFactor : 1), rule.adam_power, dim);
  if (draft.text("optimizer.name") != "muon") {
    return draft.choose("optimizer.lr", adam, str_cat(width, why, rule.adam_reason));
  }
  draft.choose("optimizer.lr", rate_for(rule.muon, tuning::kMuonPower, dim), str_cat(width, why, rule.muon_reason));
  draft.choose("optimizer.adamw_lr", adam, str_cat(width, rule.adam_reason));
}

void choose_tuned_rates(SizedDraft& sized, const DataSize& data, const tuning::TunedRates& rates) {
  const double passes = sized.tokens / data.unique, share = std::min(1.0, rates.passes / passes);
  const std::string reason =
      share < 1 ? fmt::format(", and {} of that for {} passes over the data", rough_amount(share), rough_amount(passes))
                : "";
  choose_rates(sized.draft, {.adam = share * rates.adam,
                             .adam_power = tuning::kTunedPower,
                             .muon = share * tuning::kTunedMuonRate,
                             .adam_reason = reason,
                             .muon_reason = reason});
}

std::int64_t no_step_limit(std::int64_t sync_every) {
  constexpr std::int64_t kMostSteps = 1'000'000'000;
  return sync_every > 0 ? kMostSteps - kMostSteps % sync_every : kMostSteps;
}

void choose_clock(PlanDraft& draft, double cooldown) {
  const double minutes = draft.request().minutes;
  draft.choose("train.minutes", minutes, "--minutes");
  draft.choose("train.steps", no_step_limit(draft.integer("train.sync_every")),
               "no limit: the clock ends the training");
  if (const std::int64_t round = draft.integer("train.sync_every"); round > 0) {  // until choose_by_speed()
    draft.choose("eval.every", round, "");
    draft.choose("checkpoint.every", round, "");
  }
  draft.choose("schedule.kind", word_of(ScheduleKind::wsd), "its rate falls in time for the end");
  draft.choose("schedule.cooldown", cooldown,
               fmt::format("the rate falls in the last {:.0f} % of the steps", 100 * cooldown));
}

}  // namespace tapeformer
