// Where a number that is not finite comes from.
#pragma once

#include <functional>
#include <string>

#include "train/loop/objective.h"

namespace tapeformer {

// Runs a step of training again, first its forward passes, then its backward passes, and looks at what each op makes.
// One line about the first value that is not finite: the op, the module in whose forward pass it stands, the sizes, the
// place of the value and its neighbours, and which inputs were not finite before. Empty where all values are finite.
//
// The weights are to be those from before the step, and go_back() goes back to the states that were carried then
// (Objective::hold_recurrent_state). Gradients and recurrent states are lost.
std::string trace_nan(Objective& objective, const ResolvedConfig& config, std::int64_t step,
                      const std::function<void()>& go_back);

// What a message says behind a number of a step that is not finite: what made it, as trace_nan() finds it where
// train.trace_nan is set, and the advice.
std::string cause_of_nan(Objective& objective, const ResolvedConfig& config, std::int64_t step,
                         const std::function<void()>& go_back);
inline constexpr const char* kSlowerAdvice = "a lower optimizer.lr or a longer schedule.warmup may help";

}  // namespace tapeformer
