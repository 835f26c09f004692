// Makes the optimizer and the schedule that a configuration describes. (This is not in train/config, because several
// ranks get a sharded optimizer.)
#pragma once

#include "nn/optim/optimizers.h"
#include "nn/optim/schedule.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/distributed/sharded_optimizer.h"

namespace tapeformer {

// Makes the optimizer of a single process.
std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab);
// Makes the optimizer of one of several ranks, over which its state is sharded; with train.sync_every each rank steps
// by itself. Keeps a reference to the ranks.
std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab, Communicator& ranks);
// Returns the units of the slab that must stay whole when it is divided among the ranks.
ShardUnits shard_units(const ResolvedConfig& config);
// Returns how many bytes the optimizer of a single process stores for a parameter of this kind with `elements`
// elements, beside its value and gradient: its state, the moving average of train.ema, and with train.sync_every also
// the shared values and the momentum of the outer step.
std::int64_t optimizer_bytes(const ResolvedConfig& config, ParameterKind kind, std::int64_t elements);
// Returns the schedule of the learning rate.
ScheduleSpec schedule_spec(const ResolvedConfig& config);

}  // namespace tapeformer
