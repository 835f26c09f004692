// The summary that `train` prints when a run has ended.
#pragma once

#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer::cli {

// Prints to standard output: the best evaluation, whether the model was overfitted, which weights commands read, what
// the best possible model would reach if that is known, and where the run is.
void print_summary(const ResolvedConfig& config, const Objective& objective, const TrainingState& state,
                   const RunFolder& run);

// Logs the commands that read the run, ready to be typed.
void print_next_commands(const ResolvedConfig& config, const RunFolder& run);

}  // namespace tapeformer::cli
