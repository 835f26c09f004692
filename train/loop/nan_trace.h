// Finds the op that first computes a number that is not finite.
#pragma once

#include <functional>
#include <string>

#include "train/loop/objective.h"

namespace tapeformer {

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
