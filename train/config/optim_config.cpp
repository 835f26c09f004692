#include "train/config/optim_config.h"

#include "core/error.h"

namespace tapeformer {

OptimizerOptions optimizer_options(const Config& config) {
  const Config::Optimizer& o = config.optimizer;
  return {.beta1 = o.beta1,
          .beta2 = o.beta2,
          .eps = o.eps,
          .weight_decay = o.weight_decay,
          .momentum = o.momentum,
          .nesterov = o.nesterov,
          .clip = o.clip};
}

std::unique_ptr<Optimizer> make_optimizer(const Config& config, const ParameterSlab& slab) {
  return make_optimizer(config.optimizer.name, slab, optimizer_options(config));
}

ScheduleSpec schedule_spec(const Config& config) {
  const std::optional<ScheduleKind> kind = find_schedule_kind(config.schedule.kind);
  check(kind.has_value(), "schedule.kind: there is no schedule ", config.schedule.kind);
  return {.kind = *kind,
          .peak = config.optimizer.lr,
          .min_lr = config.schedule.min_lr,
          .factor = config.schedule.factor,
          .dim = config.model.dim,
          .warmup = config.schedule.warmup,
          .total = config.schedule.total};
}

}  // namespace tapeformer
