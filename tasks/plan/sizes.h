// The choice of a model's size, from measured speeds.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "nn/module/module.h"
#include "tasks/plan/plan.h"

namespace tapeformer {

// The parameters of a model by their roles.
struct ParameterCounts {
  std::int64_t all = 0;
  std::int64_t non_embedding = 0;  // without embeddings and heads: N of scaling laws (Kaplan et al. 2020)
  std::int64_t matrices = 0;       // of these, without biases and norms: 12 · layers · dim² in GPT's blocks
};
ParameterCounts count_parameters(const Module& model);
// Counts the parameters of the model that a configuration describes. No memory is allocated for it, whatever its size.
ParameterCounts count_parameters(const ResolvedConfig& config);

// What a training has to learn from, in tokens.
struct DataSize {
  double unique = 0;        // of one pass over the training data
  double validation = 0;    // of one evaluation; 0: there is none
  bool is_held_out = true;  // whether the validation data is a part of the training data
  double token_worth = 1;   // what a token counts for in the predicted loss (token_worth())
};

// Returns the size of data of `all` tokens. `valid` are the tokens of validation data; nullopt: there is none, and the
// share data.valid_fraction of all is held out.
DataSize data_size(double all, const std::optional<double>& valid, double valid_fraction);

// Returns the number of tokens that a step of this configuration reads.
using StepTokens = std::function<double(const ResolvedConfig&)>;

// A size that was chosen, or the only one.
struct SizedDraft {
  PlanDraft draft;
  double parameters = 0;    // of the model, without embeddings and heads
  double step_seconds = 0;  // the least that was measured
  double tokens = 0;        // that the whole training reads at that speed
  int tried = 0;            // the number of sizes that were measured
};

// Returns the seconds of a training of this length in which steps are done (tuning::kStepsShare).
double steps_seconds(double minutes);

// Chooses model.layers, model.dim and model.heads: measures one size after another, from small to large, until the
// predicted loss rises, the time for measuring is over, or a model needs too much memory; takes the size with the least
// predicted loss. Each size is measured twice, and its shorter time counts: in the longer one the machine was busy. For
// each size, before it is measured, `with_rates` chooses the keys that depend on the width.
SizedDraft choose_size(const PlanDraft& draft, std::span<const tuning::ModelSize> sizes, const DataSize& data,
                       const StepTokens& step_tokens, const std::function<void(PlanDraft&)>& with_rates);

// Measures the steps of the draft as it is now, and chooses train.matmul: the first of fast_matmuls(), unless a more
// exact one is clearly faster. The settings are measured from the least exact one on, each twice as in choose_size(),
// up to the first that is clearly slower than the one before it.
void choose_matmul(SizedDraft& sized, const StepTokens& step_tokens);

// The key by which a part of given validation data is scored, and the tokens that 1 of it stands for; without a key,
// all of the data is scored.
struct ValidationPart {
  std::string_view key = {};
  double tokens = 1;
};

// Keeps evaluations of much data within their share of the time, but reads at least a batch of `of_batch` tokens: holds
// out less of the training data or, if the user gave the validation data or how much is held out, chooses the key of
// `part`. Leaves in `data` what evaluations then read: no more than eval.batches, if that key is not 0.
void choose_validation(SizedDraft& sized, DataSize& data, double of_batch, const ValidationPart& part);

// Chooses model.dropout by the passes over the data and the number of parameters.
void choose_dropout(SizedDraft& sized, const DataSize& data, const tuning::DropoutRule& rule);

// Chooses what else depends on the speed and the data: the warm-up, evaluations and checkpoints.
void choose_by_speed(SizedDraft& sized, const DataSize& data, double step_tokens,
                     double warmup_share = tuning::kWarmupShare);

// Learning rates at a width of tuning::kRateWidth. `adam` is the rate of Adam and AdamW; rate_for() computes it for
// other widths, with the power `adam_power`. With Muon, `muon` is the rate of the matrices, and `adam` that of all
// other parameters. The reasons are appended to those that choose_rates() gives.
struct RateRule {
  double adam = 0, adam_power = 0, muon = tuning::kMuonRate;
  std::string adam_reason = {}, muon_reason = {};
};

// Chooses the learning rates for the width that the draft has. Adapters multiply Adam's and AdamW's by
// tuning::kAdapterRateFactor.
void choose_rates(PlanDraft& draft, const RateRule& rule);

// Chooses the rates where the weights of another run go on learning, but not for labels: the smaller, the more often
// the training passes over the data.
void choose_tuned_rates(SizedDraft& sized, const DataSize& data, const tuning::TunedRates& rates = tuning::kTunedText);

// Returns train.steps of a training that ends by the clock alone: a multiple of train.sync_every, if that is not 0.
std::int64_t no_step_limit(std::int64_t sync_every);

// Chooses the keys by which the training ends in time: train.minutes, train.steps, and the schedule, whose learning
// rate falls in the last `cooldown` of the steps, as a share.
void choose_clock(PlanDraft& draft, double cooldown = tuning::kCooldown);

// Returns the reason for the tokens of a step in a training of `tokens` tokens: how many steps it has, and where these
// are not about tuning::kWantedSteps, the limit that a step's tokens are at.
std::string steps_reason(double tokens, double step_tokens);

// Returns how often a training of so many steps does what it does every so many steps and after the last one, about.
std::int64_t times_of(std::int64_t every, double steps);

// Returns a number in words for PlannedKey::reason: "1.2 million".
std::string amount(double value);
// The same in two digits: "0.42", "12", "4500".
std::string rough_amount(double value);

}  // namespace tapeformer
