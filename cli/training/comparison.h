// The comparison of a trained model with simple models, which is made once at the end of a training.
#pragma once

#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer::cli {

// Returns Objective::baselines(). Asks for as much work as takes a thirtieth of the time of the training, but 0.2
// seconds to two minutes. Returns nullopt if there is nothing to compare, if the program is asked to stop meanwhile,
// or, with a warning, if something goes wrong.
std::optional<Baselines> find_baselines(Objective& objective, double training_seconds);

// Compares the best evaluation, of which there is one, with the baselines, and writes the result to the run's
// comparison.json. What goes wrong is a warning, since the training is done.
void write_comparison(const Baselines& baselines, const Objective& objective, const TrainingState& state,
                      const RunFolder& run);

// Prints the comparison, in a line, if it was made at the step of `state`.
void print_comparison(const TrainingState& state, const RunFolder& run);

}  // namespace tapeformer::cli
