// The optimizer and the schedule of a configuration.
#pragma once

#include "nn/optim/optimizers.h"
#include "nn/optim/schedule.h"
#include "train/config/config.h"

namespace tapeformer {

// The configuration must be resolved.
OptimizerOptions optimizer_options(const Config& config);
std::unique_ptr<Optimizer> make_optimizer(const Config& config, const ParameterSlab& slab);
ScheduleSpec schedule_spec(const Config& config);

}  // namespace tapeformer
