// From the configuration to the optimizer and the schedule.
#pragma once

#include "nn/optim/optimizer.h"
#include "nn/optim/schedule.h"
#include "train/config/config.h"

namespace tapeformer {

OptimizerSpec optimizer_spec(const ResolvedConfig& config);
ScheduleSpec schedule_spec(const ResolvedConfig& config);

}  // namespace tapeformer
