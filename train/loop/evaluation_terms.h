// What an evaluation's number depends on beside the weights: only numbers on the same terms compare.
#pragma once

#include <optional>
#include <string>

#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer {

// The state of a run before its first step.
TrainingState first_state(const Objective& objective, const ResolvedConfig& config);

// Makes `state`, of a run that goes on with this objective, one on its terms. Where validation data, or how it is
// scored, is another than before, the best evaluation, and with it patience and the plateau's comparison, begin anew;
// the rate that a plateau has come to stays. Returns what is to be told of it.
std::optional<std::string> take_terms(TrainingState& state, const Objective& objective, const ResolvedConfig& config);

// Throws UsageError where a key follows evaluations, and nothing can be evaluated.
void require_evaluations(const Objective& objective, const ResolvedConfig& config);

}  // namespace tapeformer
