// Measures how fast this machine trains.
#pragma once

#include "tasks/plan/plan.h"

namespace tapeformer {

// Returns a timer that runs some steps of each configuration, on random data, for all of them together in about
// tuning::kMeasuringShare of the minutes (at least kMeasuringLeast seconds). It returns nullopt when that time is over.
StepTimer measuring_timer(double minutes);

}  // namespace tapeformer
