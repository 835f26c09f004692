#include "train/config/optim_config.h"

#include "train/distributed/local_steps.h"

namespace tapeformer {

OptimizerOptions optimizer_options(const ResolvedConfig& config) {
  const Config::Optimizer& o = config.optimizer;
  return {.beta1 = o.beta1,
          .beta2 = o.beta2,
          .eps = o.eps,
          .weight_decay = o.weight_decay,
          .momentum = o.momentum,
          .nesterov = o.nesterov,
          .clip = o.clip};
}

std::unique_ptr<Optimizer> make_optimizer(const ResolvedConfig& config, const ParameterSlab& slab) {
  return make_optimizer(config.optimizer.name, slab, optimizer_options(config));
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
  return std::make_unique<ShardedOptimizer>(slab, config.optimizer.clip, make, ranks, train.comm);
}

ScheduleSpec schedule_spec(const ResolvedConfig& config) {
  return {.kind = config.schedule.kind,
          .peak = config.optimizer.lr,
          .min_lr = config.schedule.min_lr,
          .factor = config.schedule.factor,
          .dim = config.model_dim().value_or(0),
          .warmup = config.schedule.warmup,
          .total = config.schedule.total,
          .decay = config.schedule.decay};
}

}  // namespace tapeformer
