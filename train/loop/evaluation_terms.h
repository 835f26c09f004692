// The terms of an evaluation: what its result depends on beside the weights. Only results on equal terms are
// comparable.
#pragma once

#include <optional>
#include <string>

#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer {

// The training state of a run before its first step.
TrainingState first_state(const Objective& objective, const ResolvedConfig& config);

// Updates the terms in `state`, of a run that continues with this objective. If the validation data, or how it is
// scored, has changed, then the best evaluation, the patience and the plateau's comparison are reset; the learning rate
// that a plateau has reached is kept. Returns a message about this for the user, if there is one.
std::optional<std::string> take_terms(TrainingState& state, const Objective& objective, const ResolvedConfig& config);

// Throws UsageError where a key depends on evaluations but there is nothing to evaluate.
void require_evaluations(const Objective& objective, const ResolvedConfig& config);

}  // namespace tapeformer
