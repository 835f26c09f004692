// The terms of an evaluation are everything on which its result depends, except the weights: the validation data, and
// how it is scored. Only results on the same terms can be compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer {

// Returns the training state of a run before its first step.
TrainingState first_state(const Objective& objective, const ResolvedConfig& config);

// Updates the terms in `state` when a run continues with this objective. If they have changed, the run forgets its best
// evaluation, with which eval.patience and the plateau schedule compare, and notes the step from which on evaluations
// compare (TrainingState::terms_since); the learning rate that the plateau schedule has reached is kept. Returns a
// message for the user if an evaluation was forgotten, else nullopt.
std::optional<std::string> update_evaluation_terms(TrainingState& state, const Objective& objective,
                                                   const ResolvedConfig& config);

// Returns a line for each key of validation data that names files which are training files too. Their loss says nothing
// about other data.
std::vector<std::string> trained_validation_files(const ResolvedConfig& config);

// Throws UsageError if a key depends on evaluations but there is nothing to evaluate.
void require_evaluations(const Objective& objective, const ResolvedConfig& config);

}  // namespace tapeformer
