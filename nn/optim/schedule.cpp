#include "nn/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace tapeformer {

double learning_rate(const ScheduleSpec& schedule, std::int64_t step) {
  check(step >= 1, "learning_rate: steps are counted from 1, got ", step);
  const double s = static_cast<double>(step), warmup = static_cast<double>(std::max<std::int64_t>(schedule.warmup, 1));
  if (schedule.kind == ScheduleKind::inverse_sqrt && schedule.factor > 0) {
    return schedule.factor / std::sqrt(static_cast<double>(schedule.dim)) *
           std::min(1 / std::sqrt(s), s * std::pow(warmup, -1.5));
  }
  if (step <= schedule.warmup) return schedule.peak * s / warmup;
  if (schedule.kind == ScheduleKind::constant) return schedule.peak;
  if (schedule.kind == ScheduleKind::inverse_sqrt) return schedule.peak * std::sqrt(warmup / s);
  if (step >= schedule.total) return schedule.min_lr;
  const double t = static_cast<double>(step - schedule.warmup) / static_cast<double>(schedule.total - schedule.warmup);
  const double part = schedule.kind == ScheduleKind::cosine ? (1 + std::cos(std::numbers::pi * t)) / 2 : 1 - t;
  return schedule.min_lr + (schedule.peak - schedule.min_lr) * part;
}

}  // namespace tapeformer
