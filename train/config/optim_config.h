// The optimizer and the schedule of a configuration.
#pragma once

#include "nn/optim/optimizers.h"
#include "nn/optim/schedule.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"

namespace tapeformer {

OptimizerOptions optimizer_options(const ResolvedConfig& config);
std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab);
// The same for a job of several ranks: its state is dealt out to them, and with train.sync_every they step by
// themselves. Keeps a reference to the ranks.
std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab, Communicator& ranks);
ScheduleSpec schedule_spec(const ResolvedConfig& config);

}  // namespace tapeformer
