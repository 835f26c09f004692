#include "train/config/optim_config.h"

namespace tapeformer {

OptimizerSpec optimizer_spec(const ResolvedConfig& config) {
  const Config::Optimizer& o = config.optimizer;
  return {.beta1 = o.beta1, .beta2 = o.beta2, .eps = o.eps, .weight_decay = o.weight_decay, .clip = o.clip};
}

ScheduleSpec schedule_spec(const ResolvedConfig& config) {
  return {.kind = config.schedule.kind,
          .peak = config.optimizer.lr,
          .min_lr = config.schedule.min_lr,
          .factor = config.schedule.factor,
          .dim = config.model_dim().value_or(0),
          .warmup = config.schedule.warmup,
          .total = config.schedule.total};
}

}  // namespace tapeformer
