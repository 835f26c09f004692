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

// Returns t of a cool-down of `length` steps that ends at step `end`: 0 before it begins, 1 from its end on.
double cooldown_progress(std::int64_t end, double length, std::int64_t step) {
  if (step >= end) return 1;
  return std::max(0.0, 1 - static_cast<double>(end - step) / length);
}

// Returns t of wsd: the progress of the cool-down.
double cooldown_progress(const ScheduleSpec& schedule, std::int64_t step) {
  if (const auto& chosen = schedule.chosen) {
    if (chosen->end == 0) return 0;
    const auto length = static_cast<double>(chosen->end - chosen->begin);
    return chosen->progress + (1 - chosen->progress) * cooldown_progress(chosen->end, length, step);
  }
  const auto total = static_cast<double>(schedule.total);
  const double after_warmup = std::max(0.0, total - static_cast<double>(schedule.warmup));
  double length = std::min(schedule.cooldown * total, after_warmup);
  // A share that was written for a whole number of steps means exactly that number.
  if (std::abs(length - std::round(length)) < 1e-9 * length) length = std::round(length);
  return cooldown_progress(schedule.total, length, step);
}

bool has_begun(const std::optional<Cooldown>& cooldown) { return cooldown && cooldown->end > 0; }

}  // namespace

double learning_rate(const ScheduleSpec& schedule, std::int64_t step, std::int64_t num_bad_epochs) {
  check(step >= 1, "learning_rate: steps are counted from 1, got ", step);
  const double s = static_cast<double>(step), warmup = static_cast<double>(std::max<std::int64_t>(schedule.warmup, 1));
  if (schedule.kind == ScheduleKind::inverse_sqrt && schedule.factor > 0) {
    return schedule.factor / std::sqrt(static_cast<double>(schedule.dim)) *
           std::min(1 / std::sqrt(s), s * std::pow(warmup, -1.5));
  }
  if (step <= schedule.warmup && !has_begun(schedule.chosen)) return schedule.peak * s / warmup;
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

bool cools_down_after(const ScheduleSpec& schedule, std::int64_t step) {
  return cooldown_progress(schedule, step + 1) > 0;
}

Cooldown cooldown_from(const ScheduleSpec& schedule, std::int64_t begin, std::int64_t end) {
  const double range = schedule.peak - schedule.min_lr;
  double progress = cooldown_progress(schedule, begin);
  if (begin <= schedule.warmup && !has_begun(schedule.chosen) && range > 0) {
    const double fallen = std::clamp((schedule.peak - learning_rate(schedule, begin)) / range, 0.0, 1.0);
    progress = schedule.cooldown_shape == CooldownShape::sqrt ? fallen * fallen : fallen;
  }
  return {.begin = begin, .progress = progress, .end = end};
}

}  // namespace tapeformer
