#include "train/distributed/make_optimizer.h"

#include "train/distributed/local_steps.h"

namespace tapeformer {

std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab) {
  auto optimizer = find_optimizer_row(config.optimizer.name)->make(slab, optimizer_options(config));
  if (config.train.ema > 0) optimizer->keep_moving_average(config.train.ema);
  return optimizer;
}

std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab,
                                          Communicator& ranks) {
  const Config::Train& train = config.train;
  const MakeOptimizer make = [&](const ParameterSlab& part) { return make_optimizer(config, part); };
  if (train.sync_every > 0) {
    return std::make_unique<LocalStepsOptimizer>(
        slab, config.optimizer.clip, make,
        LocalStepsOptions{.sync_every = train.sync_every, .outer_lr = train.outer_lr, .momentum = train.outer_momentum},
        ranks, train.comm);
  }
  if (ranks.size() == 1) return make(slab);
  return std::make_unique<ShardedOptimizer>(slab, config.optimizer.clip, make, ranks, train.comm, /*bucket=*/0,
                                            shard_units(config));
}

ShardUnits shard_units(const ResolvedConfig& config) {
  const bool in_blocks = state_format(optimizer_options(config)) != StateFormat::f32;
  return {find_optimizer_row(config.optimizer.name)->unit, in_blocks ? kernels::kStateBlock : 1};
}

std::int64_t optimizer_bytes(const ResolvedConfig& config, ParameterKind kind, std::int64_t elements) {
  const KeyValues options = optimizer_options(config);
  const std::int64_t moments = find_optimizer_row(config.optimizer.name)->state_slabs(options, kind);
  std::int64_t copies = config.train.ema > 0 ? 1 : 0;
  if (config.train.sync_every > 0) copies += 1 + (config.train.outer_momentum > 0 ? 1 : 0);
  return moments * kernels::state_bytes(state_format(options), elements) + copies * 4 * elements;
}

ScheduleSpec schedule_spec(const ResolvedConfig& config) {
  return {.kind = *config.schedule.kind,
          .peak = config.optimizer.lr,
          .min_lr = config.schedule.min_lr,
          .factor = config.schedule.factor,
          .dim = config.model_dim().value_or(0),
          .warmup = config.schedule.warmup,
          .total = config.schedule.total,
          .decay = config.schedule.decay,
          .cooldown = config.schedule.cooldown,
          .cooldown_shape = config.schedule.cooldown_shape};
}

}  // namespace tapeformer
