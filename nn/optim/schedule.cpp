#include "nn/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace tapeformer {
namespace {

// Returns the progress from the end of warm-up (0) to step `total` and beyond (1).
double progress(const ScheduleSpec& schedule, std::int64_t step) {
  if (step >= schedule.total) return 1;
  return static_cast<double>(step - schedule.warmup) / static_cast<double>(schedule.total - schedule.warmup);
}

// Returns the progress from the beginning of the cool-down (0, also before it) to step `total` and beyond (1).
double cooldown_progress(const ScheduleSpec& schedule, std::int64_t step) {
  if (step >= schedule.total) return 1;
  const auto total = static_cast<double>(schedule.total);
  const double length = std::min(schedule.cooldown * total, total - static_cast<double>(schedule.warmup));
  return std::max(0.0, 1 - (total - static_cast<double>(step)) / length);
}

}  // namespace

double learning_rate(const ScheduleSpec& schedule, std::int64_t step, std::int64_t num_bad_epochs) {
  check(step >= 1, "learning_rate: steps are counted from 1, got ", step);
  const double s = static_cast<double>(step), warmup = static_cast<double>(std::max<std::int64_t>(schedule.warmup, 1));
  if (schedule.kind == ScheduleKind::inverse_sqrt && schedule.factor > 0) {
    return schedule.factor / std::sqrt(static_cast<double>(schedule.dim)) *
           std::min(1 / std::sqrt(s), s * std::pow(warmup, -1.5));
  }
  if (step <= schedule.warmup) return schedule.peak * s / warmup;
  const auto above_min = [&](double share) { return schedule.min_lr + (schedule.peak - schedule.min_lr) * share; };
  switch (schedule.kind) {
    case ScheduleKind::inverse_sqrt:
      return schedule.peak * std::sqrt(warmup / s);
    case ScheduleKind::cosine:
      return above_min((1 + std::cos(std::numbers::pi * progress(schedule, step))) / 2);
    case ScheduleKind::linear:
      return above_min(1 - progress(schedule, step));
    case ScheduleKind::constant:
      return schedule.peak;
    case ScheduleKind::plateau:
      return schedule.peak * std::pow(schedule.decay, static_cast<double>(num_bad_epochs));
    case ScheduleKind::wsd: {
      const double t = cooldown_progress(schedule, step);
      return above_min(1 - (schedule.cooldown_shape == CooldownShape::sqrt ? std::sqrt(t) : t));
    }
  }
  fail("learning_rate: not a kind of schedule: ", static_cast<int>(schedule.kind));
}

}  // namespace tapeformer
