// Measures how fast this machine trains.
#pragma once

#include "tasks/plan/plan.h"

namespace tapeformer {

// Returns a timer that runs some steps of each configuration on random data. All its measurements together take at most
// about tuning::kMeasuringShare of the minutes (at least kMeasuringLeast seconds). It returns nullopt when that time is
// over, and for a model that does not fit into memory.
StepTimer measuring_timer(double minutes);

}  // namespace tapeformer
