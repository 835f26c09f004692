// What `train` says of a run that has ended.
#pragma once

#include "train/loop/objective.h"
#include "train/run/checkpoint.h"

namespace tapeformer::cli {

// The best evaluation, whether the model was overfitted, which weights commands read, what the best possible model
// would reach where that is known, and where the run is: on standard output.
void print_summary(const ResolvedConfig& config, const Objective& objective, const TrainingState& state,
                   const RunFolder& run);

// The commands that read the run, ready to be typed: in the log.
void print_next_commands(const ResolvedConfig& config, const RunFolder& run);

}  // namespace tapeformer::cli
