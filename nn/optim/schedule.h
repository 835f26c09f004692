// The learning rate of each step.
#pragma once

#include <cstdint>
#include <optional>

#include "core/keys.h"

namespace tapeformer {

enum class ScheduleKind { inverse_sqrt, cosine, linear, constant, plateau, wsd };
// The curve by which the rate of wsd falls in its cool-down.
enum class CooldownShape { linear, sqrt };

template <>
struct Words<ScheduleKind> {
  static constexpr std::pair<ScheduleKind, std::string_view> list[] = {{ScheduleKind::inverse_sqrt, "inverse_sqrt"},
                                                                       {ScheduleKind::cosine, "cosine"},
                                                                       {ScheduleKind::linear, "linear"},
                                                                       {ScheduleKind::constant, "constant"},
                                                                       {ScheduleKind::plateau, "plateau"},
                                                                       {ScheduleKind::wsd, "wsd"}};
};
template <>
struct Words<CooldownShape> {
  static constexpr std::pair<CooldownShape, std::string_view> list[] = {{CooldownShape::linear, "linear"},
                                                                        {CooldownShape::sqrt, "sqrt"}};
};

// A cool-down of wsd whose steps are chosen while the run goes on. t goes from `progress` at step `begin` to 1 at step
// `end`, in a straight line.
struct Cooldown {
  std::int64_t begin = 0;
  double progress = 0;
  std::int64_t end = 0;  // 0: it has not begun, and t is 0
};

struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 1e-3;
  double min_lr = 0;        // cosine, linear, wsd: the rate from step `total` on
  double factor = 0;        // inverse_sqrt: if above 0, the paper's form, which does not use the peak
  std::int64_t dim = 0;     // the model's width, used by the paper's form
  std::int64_t warmup = 0;  // in steps; 0 or 1: no warm-up
  std::int64_t total = 0;   // cosine, linear, wsd: the step that reaches min_lr
  double decay = 0.5;       // plateau: the factor by which each evaluation without a new best loss multiplies the rate
  double cooldown = 0.4;    // wsd: the share of the `total` steps, at their end, in which the rate falls
  CooldownShape cooldown_shape = CooldownShape::linear;
  std::optional<Cooldown> chosen = {};  // wsd: takes the place of `total` and `cooldown`
};

// Returns the learning rate of a step; steps are counted from 1. `num_bad_epochs` is the number of evaluations so far,
// from the end of warm-up on, that were not better than the best one before. Throws Error for a step below 1.
//
// While step <= warmup the rate is peak · step / warmup. After that:
//   inverse_sqrt  peak · √(warmup / step)
//                 With a factor, the paper's form: factor · dim^−0.5 · min(step^−0.5, step · warmup^−1.5). It is the
//                 same curve with peak = factor / √(dim · warmup)     (Vaswani et al. 2017, section 5.3).
//   cosine        min_lr + (peak − min_lr) · (1 + cos(π t)) / 2, t = (step − warmup) / (total − warmup)
//                 (Loshchilov & Hutter 2017, one cycle, as in nanoGPT)
//   linear        min_lr + (peak − min_lr) · (1 − t)
//   constant      peak
//   plateau       peak · decay^num_bad_epochs     (Mikolov 2012: halved when the validation loss stalls)
//   wsd           min_lr + (peak − min_lr) · (1 − t), or (1 − √t) for sqrt, where t goes from 0 at the beginning of the
//                 cool-down to 1 at `total`; before it t is 0     (warm-up, stable, decay: Hu et al. 2024, Hägele et
//                 al. 2024). The cool-down is cooldown · total steps long, or what warm-up leaves if that is less.
//                 A chosen cool-down has its own t, and may begin before warm-up has ended.
// Without warm-up inverse_sqrt falls from step 1 on, as if warmup were 1.
double learning_rate(const ScheduleSpec& schedule, std::int64_t step, std::int64_t num_bad_epochs = 0);

// Returns whether the rate of wsd after this step is lower than at its peak because the cool-down has begun.
bool cools_down_after(const ScheduleSpec& schedule, std::int64_t step);
// Returns the cool-down of wsd from the rate of step `begin` on, wherever in the schedule that step is, to step `end`.
Cooldown cooldown_from(const ScheduleSpec& schedule, std::int64_t begin, std::int64_t end);

}  // namespace tapeformer
