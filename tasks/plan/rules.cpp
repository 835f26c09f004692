#include "tasks/plan/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace tapeformer {

double effective_tokens(double seen, double unique) {
  if (seen <= unique) return seen;
  constexpr double kRepeats = tuning::kRepeatsThatCount;
  return unique + unique * kRepeats * (1 - std::exp(-(seen / unique - 1) / kRepeats));
}

double predicted_loss(double parameters, double tokens, const tuning::LossLaw& law) {
  return law.e + law.a / std::pow(parameters, law.alpha) + law.b / std::pow(tokens, law.beta);
}

double token_worth(std::int64_t vocab) {
  return std::pow(tuning::kCharacterVocab / static_cast<double>(vocab), tuning::kVocabPower);
}

double dropout_for(double epochs, double parameters_per_token, const tuning::DropoutRule& rule) {
  if (epochs <= rule.free_epochs) return 0;
  const double excess = 1 + rule.of_excess * std::log2(std::max(parameters_per_token, 1.0));
  const double dropout = rule.per_doubling * std::log2(epochs / rule.free_epochs) * excess;
  return std::min(rule.most, std::round(dropout * 20) / 20);
}

std::int64_t heads_for(std::int64_t dim, std::int64_t kv_heads) {
  const std::int64_t wide = dim < tuning::kWideModel ? tuning::kNarrowHead : tuning::kWideHead;
  for (std::int64_t heads = dim / wide / kv_heads * kv_heads; heads > kv_heads; heads -= kv_heads) {
    if (dim % heads == 0 && dim / heads % 2 == 0) return heads;
  }
  return kv_heads;
}

std::int64_t power_of_two(double value, std::int64_t least, std::int64_t most) {
  const double power = std::exp2(std::round(std::log2(value)));
  return std::clamp(static_cast<std::int64_t>(std::min(power, 1e15)), least, most);
}

std::int64_t step_tokens_for(double tokens, std::int64_t fewest) {
  return power_of_two(std::max(tokens, 1.0) / tuning::kWantedSteps, fewest, tuning::kMostStepTokens);
}

std::int64_t micro_steps_for(std::int64_t step_tokens, std::int64_t context, std::int64_t layers, std::int64_t dim,
                             std::int64_t memory) {
  const double token_bytes = tuning::kActivationBytes * static_cast<double>(layers) * static_cast<double>(dim);
  const double most = tuning::kMemoryShare * static_cast<double>(memory) / token_bytes;
  std::int64_t micro_steps = 1;
  while (static_cast<double>(step_tokens / micro_steps) > most && step_tokens / (2 * micro_steps) >= context)
    micro_steps *= 2;
  return micro_steps;
}

std::int64_t vocab_for(double size, std::span<const tuning::VocabRow> rows) {
  const auto row = std::ranges::find_if(rows, [&](const tuning::VocabRow& other) { return size <= other.up_to; });
  return (row == rows.end() ? rows.back() : *row).vocab;
}

std::int64_t context_for(double minutes, double tokens) {
  std::int64_t context = minutes < tuning::kLongContextMinutes ? tuning::kContext : tuning::kLongContext;
  while (context > 0 && static_cast<double>(context * tuning::kLeastRows) > tokens) {
    context = context > tuning::kLeastContext ? context / 2 : 0;
  }
  return context;
}

double two_digits(double value) {
  const std::string text = fmt::format("{:.2g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double rate_for(double rate, double power, std::int64_t dim) {
  return two_digits(rate * std::pow(tuning::kRateWidth / static_cast<double>(dim), power));
}

namespace {

// Returns the number of validation tokens, over all evaluations, that take their share of the time.
double evaluated_tokens(double tokens) { return tokens * tuning::kEvaluationShare / tuning::kEvaluatedTokenCost; }

}  // namespace

double vocab_rate_share(std::int64_t vocab) {
  const double share = std::pow(static_cast<double>(vocab) / tuning::kFullRateVocab, tuning::kRateVocabPower);
  return std::clamp(share, tuning::kLeastRateShare, 1.0);
}

std::int64_t evaluations_for(double tokens, double validation) {
  const double count = std::min(evaluated_tokens(tokens) / std::max(validation, 1.0), 1e6);
  return std::clamp(static_cast<std::int64_t>(count), tuning::kFewestEvaluations, tuning::kMostEvaluations);
}

double most_validation(double tokens) {
  return evaluated_tokens(tokens) / static_cast<double>(tuning::kFewestEvaluations);
}

std::int64_t round_number(double value) {
  if (value < 10) return std::max<std::int64_t>(static_cast<std::int64_t>(value), 1);
  const double digits = std::pow(10, std::floor(std::log10(value)) - 1), unit = value < 100 ? 5 : digits;
  return static_cast<std::int64_t>(std::floor(value / unit) * unit);
}

}  // namespace tapeformer
