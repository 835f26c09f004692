// The optimizer and the schedule of a configuration.
#pragma once

#include "nn/optim/optimizers.h"
#include "nn/optim/schedule.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"

namespace tapeformer {

std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab);
// The same for a job of several ranks: its state is dealt out to them, and with train.sync_every they step by
// themselves. Keeps a reference to the ranks.
std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab, Communicator& ranks);
// How many numbers the optimizer of one process keeps for an element of a parameter of this kind beside its value and
// gradient: its state, and with train.sync_every the values that all ranks share and the momentum of the outer step.
std::int64_t numbers_per_parameter(const ResolvedConfig& config, ParameterKind kind);
ScheduleSpec schedule_spec(const ResolvedConfig& config);

}  // namespace tapeformer
