// The comparison of a trained model with simple models, which is made once at the end of a training.
#pragma once

#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer::cli {

// Returns Objective::baselines(). It may take a thirtieth of the time of the training, but at least 0.2 seconds and at
// most two minutes. Returns nullopt if there is nothing to compare, if the program is asked to stop meanwhile, or, with
// a warning, if something goes wrong.
std::optional<Baselines> find_baselines(Objective& objective, double training_seconds);

// Compares the best evaluation, of which there is one, with the baselines, and writes the result to the run's
// comparison.json. An error becomes a warning, since the training is done.
void write_comparison(const Baselines& baselines, const Objective& objective, const TrainingState& state,
                      const RunFolder& run);

// Removes the run's comparison.json if it says nothing of the run that goes on from `state`: if it was made at a later
// step, or if its evaluation is no longer that of the run (evaluation_terms.h).
void remove_old_comparison(const TrainingState& state, const RunFolder& run);

// Returns whether the run's comparison.json was made at the step of `state`. Also true if it cannot be read, of which
// print_comparison() tells.
bool is_compared(const TrainingState& state, const RunFolder& run);

// Prints the run's comparison.json in a line, if it was made at the step of `state`.
void print_comparison(const TrainingState& state, const RunFolder& run);

}  // namespace tapeformer::cli
