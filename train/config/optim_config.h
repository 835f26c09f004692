// The optimizer and the schedule of a configuration.
#pragma once

#include "nn/optim/optimizers.h"
#include "nn/optim/schedule.h"
#include "train/config/config.h"

namespace tapeformer {

OptimizerOptions optimizer_options(const ResolvedConfig& config);
std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab);
ScheduleSpec schedule_spec(const ResolvedConfig& config);

}  // namespace tapeformer
