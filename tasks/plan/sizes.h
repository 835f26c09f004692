// The choice of a model's size, from measured speeds.
#pragma once

#include <functional>
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
// Counts those of the model that a configuration describes. No memory is allocated for it, whatever its size.
ParameterCounts count_parameters(const ResolvedConfig& config);

// What a training has to learn from, in tokens.
struct DataSize {
  double unique = 0;       // of one pass over the training data
  double validation = 0;   // of one evaluation; 0: there is none
  double token_worth = 1;  // what one of them counts for in the predicted loss
};

// The tokens that a step sees, for a configuration.
using StepTokens = std::function<double(const ResolvedConfig&)>;

// A size that was chosen, or the only one.
struct SizedDraft {
  PlanDraft draft;
  double parameters = 0;    // of the model, without embeddings and heads
  double step_seconds = 0;  // measured
  double tokens = 0;        // seen in all, by that speed
  int tried = 0;            // the number of sizes that were measured
};

// The time in which steps are done.
double steps_seconds(double minutes);

// Chooses model.layers, model.dim and model.heads: measures one size after another, from small to large, until the
// predicted loss rises, the time for measuring is over, or a model needs too much memory; takes the one with the least
// predicted loss. `with_rates` then chooses, for each of them, what depends on the width.
SizedDraft choose_size(const PlanDraft& draft, std::span<const tuning::Rung> ladder, const DataSize& data,
                       const StepTokens& step_tokens, const std::function<void(PlanDraft&)>& with_rates);

// Measures the steps of the draft as it is now, and chooses train.matmul: the products that the CPU is made for, or
// those in f32 if they are clearly faster.
void choose_matmul(SizedDraft& sized, const StepTokens& step_tokens);

// Chooses what depends on the speed and the data: the dropout, warm-up, evaluations and checkpoints.
struct SpeedRules {
  tuning::DropoutRule dropout;
  double warmup_share = tuning::kWarmupShare;
};
void choose_by_speed(SizedDraft& sized, const DataSize& data, double step_tokens, const SpeedRules& rules);

// Chooses the rates: this one falls with the power of the width, and Muon has its own for the matrices.
void choose_rates(PlanDraft& draft, double adam_rate, double adam_power);

// train.steps of a training that ends by the clock alone.
inline constexpr std::int64_t kNoStepLimit = 1'000'000'000;

// Chooses the keys by which the training ends in time: train.minutes, train.steps, and the schedule, whose rate falls
// in this share of the steps.
void choose_clock(PlanDraft& draft, double cooldown = tuning::kCooldown);

// "1.2 million", for the reasons.
std::string amount(double value);

}  // namespace tapeformer
