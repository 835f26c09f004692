// From the configuration's words to the optimizer's and the schedule's types.
#pragma once

#include "nn/optim/optimizer.h"
#include "nn/optim/schedule.h"
#include "train/config/config.h"

namespace tapeformer {

// Both of a resolved configuration.
OptimizerSpec optimizer_spec(const Config& config);
ScheduleSpec schedule_spec(const Config& config);

}  // namespace tapeformer
