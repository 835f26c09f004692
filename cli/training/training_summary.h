// The summary that `train` prints when a run has ended.
#pragma once

#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer::cli {

// Prints to standard output: the best evaluation, how simple models compare (comparison.json), what the curves say
// (training_verdict()), which weights commands read, what the best possible model would reach if that is known, a text
// that the model makes with those weights if `with_sample`, and where the run is. With `with_sample`, the model's
// weights may become those that commands read.
void print_summary(const ResolvedConfig& config, Objective& objective, const TrainingState& state, const RunFolder& run,
                   bool with_sample);

// Returns the seconds that the sample of the summary takes, by making one with the present weights; 0 if it cannot be
// made. `training_seconds`: the time of the whole training.
double time_sample(const ResolvedConfig& config, Objective& objective, double training_seconds);

// Logs the commands that read the run, ready to be typed.
void print_next_commands(const ResolvedConfig& config, const RunFolder& run);

}  // namespace tapeformer::cli
