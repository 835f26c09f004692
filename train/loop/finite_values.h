// Checks weights, optimizer states and losses for NaN and infinity, and finds the op that computed the first such
// value.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "nn/optim/optimizer.h"
#include "train/loop/objective.h"

namespace tapeformer {

// Throws Error, naming the step, for the first weight or optimizer state that is not finite.
void require_finite_values(const ParameterSlab& slab, const Optimizer& optimizer, std::int64_t step);

// Throws Error if a value of this step, such as its loss, is not finite. The error names the op where such a value
// first appears when the step is run again (trace_nan(), if train.trace_nan is set). Without `restore_state` it is run
// again from the present state.
void require_finite(const char* what, double value, Objective& objective, const ResolvedConfig& config,
                    std::int64_t step, const std::function<void()>& restore_state = {});

// Runs the forward pass of one micro-step of the step, because finite weights may still be so large that the loss is
// not finite. Throws as require_finite() does.
void require_usable_weights(Objective& objective, const ResolvedConfig& config, std::int64_t step);

// Runs a step of training again, first its forward passes, then its backward passes, and checks the output of each op.
// Returns one line about the first value that is not finite: the op, the module whose forward pass called it, the
// sizes, the position of the value and its neighbours, and which inputs were already not finite. Returns "" if all
// values are finite. The model must have the weights from before the step, and restore_state() must restore the state
// from before the step (Objective::hold_state()). The gradients and the present state are lost.
std::string trace_nan(Objective& objective, const ResolvedConfig& config, std::int64_t step,
                      const std::function<void()>& restore_state);

// Returns whether this is the message of one of the errors that are thrown here: a training that diverged. Where
// another process trains, its message is all that is known of its error.
bool tells_of_divergence(std::string_view message);

}  // namespace tapeformer
