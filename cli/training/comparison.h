// The comparison of a trained model with simple models, which is made once at the end of a training.
#pragma once

#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer::cli {

// Compares the best evaluation with Objective::baselines(), and writes the result to the run's comparison.json. Asks
// for as much work as takes a thirtieth of the time that the training took, but 0.2 seconds to two minutes. Writes
// nothing if there is nothing to compare, or if the program is asked to stop meanwhile; what goes wrong is a warning,
// since the training is done.
void write_comparison(Objective& objective, const TrainingState& state, const RunFolder& run);

// Prints the comparison, in a line, if it was made at the step of `state`.
void print_comparison(const TrainingState& state, const RunFolder& run);

}  // namespace tapeformer::cli
