// The rules of plans (`--minutes`): pure functions of sizes and times, with the numbers of tuning.h.
#pragma once

#include <cstdint>
#include <span>

#include "tasks/plan/tuning.h"

namespace tapeformer {

// Returns how many fresh tokens are worth as much as `seen` tokens from repeated passes over `unique` tokens of text.
// In the first pass each token counts fully. Repeats count less and less: U + U R* (1 − exp(−(T/U − 1) / R*)) with U
// unique and T seen tokens (Muennighoff et al. 2023, equation 5).
double effective_tokens(double seen, double unique);

// Returns the loss that a model of N = `parameters` parameters (without embeddings) reaches after D = `tokens` fresh
// tokens: E + A / N^α + B / D^β (Hoffmann et al. 2022, equation 2). Only differences between sizes are used.
double predicted_loss(double parameters, double tokens, const tuning::LossLaw& law = tuning::kLossLaw);

// Returns how many characters a token of a vocabulary of this size counts for in the predicted loss.
double token_worth(std::int64_t vocab);

// Returns the dropout, in steps of 0.05, for `epochs` passes over the data by a model with `parameters_per_token`
// parameters for each token of the data.
double dropout_for(double epochs, double parameters_per_token, const tuning::DropoutRule& rule);

// Returns the number of heads of a model of this width: a multiple of `kv_heads` and a divisor of `dim`, whose heads
// are nearly as wide as tuning.h wants, and of even width. `dim` is a multiple of 2 kv_heads.
std::int64_t heads_for(std::int64_t dim, std::int64_t kv_heads = 1);

// Returns the power of two that is nearest to `value` by its logarithm, clamped to [least, most]. `value` is above 0.
std::int64_t power_of_two(double value, std::int64_t least, std::int64_t most);

// Returns the tokens of a step for a training that reads `tokens` tokens: a power of two, clamped to [fewest,
// tuning::kMostStepTokens].
std::int64_t step_tokens_for(double tokens, std::int64_t fewest);

// Returns into how many micro-steps, a power of two, a step of a language model is cut so that the activations of one
// take no more than their share of `memory` bytes; a micro-step has at least one row of `context` tokens.
std::int64_t micro_steps_for(std::int64_t step_tokens, std::int64_t context, std::int64_t layers, std::int64_t dim,
                             std::int64_t memory);

// Returns the vocabulary of byte pairs for a text of `size` bytes, or for `size` sentences: the vocabulary of the first
// row that reaches this size.
std::int64_t vocab_for(double size, std::span<const tuning::VocabRow> rows);

// Returns the context for a training of `minutes` minutes on `tokens` tokens of text: a power of two; 0 if the text is
// too short for the shortest context.
std::int64_t context_for(double minutes, double tokens);

// Returns the number that is nearest among those of two digits: 0.012345 → 0.012.
double two_digits(double value);

// Returns the learning rate for a model of width `dim`: rate · (tuning::kRateWidth / dim)^power, rounded to two digits.
double rate_for(double rate, double power, std::int64_t dim);

// Returns the factor of AdamW's rate, at most 1, for a language model with this vocabulary that is trained by Muon.
double vocab_rate_share(std::int64_t vocab);

// Returns how often a training on `tokens` tokens is evaluated on `validation` tokens, so that evaluations take no more
// than tuning::kEvaluationShare of the time; at least kFewestEvaluations.
std::int64_t evaluations_for(double tokens, double validation);
// Returns the largest number of validation tokens that can be evaluated kFewestEvaluations times in that share of the
// time.
double most_validation(double tokens);

// Rounds down to one or two leading digits: 1234 → 1200, 87 → 85, 7 → 7. At least 1.
std::int64_t round_number(double value);

}  // namespace tapeformer
