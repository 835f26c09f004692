#include "train/config/optim_config.h"

namespace tapeformer {

OptimizerSpec optimizer_spec(const Config& config) {
  const Config::Optimizer& o = config.optimizer;
  return {.beta1 = o.beta1, .beta2 = o.beta2, .eps = o.eps, .weight_decay = o.weight_decay, .clip = o.clip};
}

ScheduleSpec schedule_spec(const Config& config) {
  const std::string& name = config.schedule.kind;
  const ScheduleKind kind = name == "inverse_sqrt" ? ScheduleKind::inverse_sqrt
                            : name == "cosine"     ? ScheduleKind::cosine
                            : name == "linear"     ? ScheduleKind::linear
                                                   : ScheduleKind::constant;
  return {.kind = kind,
          .peak = config.optimizer.lr,
          .min_lr = config.schedule.min_lr,
          .factor = config.schedule.factor,
          .dim = config.model.dim,
          .warmup = config.schedule.warmup,
          .total = config.schedule.total};
}

}  // namespace tapeformer
