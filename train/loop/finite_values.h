// Checks weights, optimizer states and losses for NaN and infinity, and finds the op that computed the first one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "nn/optim/optimizer.h"
#include "train/loop/objective.h"

namespace tapeformer {

// Throws Error, naming the step, for the first weight or optimizer state that is not finite.
void require_finite_values(const ParameterSlab& slab, const Optimizer& optimizer, std::int64_t step);

// Throws Error if a loss that was computed with the weights after a step is not finite. Its origin is searched for in
// the batch of the step.
void require_finite_loss(const char* what, double loss, Objective& objective, const ResolvedConfig& config,
                         std::int64_t step);

// Finite weights may still be too large for a forward pass: this tries them on a batch of the step. Throws as
// require_finite_loss() does.
void require_usable_weights(Objective& objective, const ResolvedConfig& config, std::int64_t step);

// Runs a step of training again, first its forward passes, then its backward passes, and checks the output of each op.
// Returns one line about the first value that is not finite: the op, the module whose forward pass called it, the
// sizes, the position of the value and its neighbours, and which inputs were already not finite. Empty where all values
// are finite.
//
// The weights are to be those from before the step, and go_back() goes back to the states that were carried then
// (Objective::hold_recurrent_state). Gradients and recurrent states are lost.
std::string trace_nan(Objective& objective, const ResolvedConfig& config, std::int64_t step,
                      const std::function<void()>& go_back);

// The end of an error message about a number that is not finite: its origin, which trace_nan() finds if train.trace_nan
// is set, and advice.
std::string cause_of_nan(Objective& objective, const ResolvedConfig& config, std::int64_t step,
                         const std::function<void()>& go_back);
inline constexpr const char* kSlowerAdvice = "a lower optimizer.lr or a longer schedule.warmup may help";

}  // namespace tapeformer
