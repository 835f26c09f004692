// The learning rate of each step.
#pragma once

#include <cstdint>

#include "core/keys.h"

namespace tapeformer {

enum class ScheduleKind { inverse_sqrt, cosine, linear, constant, plateau };

template <>
struct Words<ScheduleKind> {
  static constexpr std::pair<ScheduleKind, std::string_view> list[] = {{ScheduleKind::inverse_sqrt, "inverse_sqrt"},
                                                                       {ScheduleKind::cosine, "cosine"},
                                                                       {ScheduleKind::linear, "linear"},
                                                                       {ScheduleKind::constant, "constant"},
                                                                       {ScheduleKind::plateau, "plateau"}};
};

struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 1e-3;
  double min_lr = 0;        // cosine, linear: the rate from step `total` on
  double factor = 0;        // inverse_sqrt: if above 0, the paper's form, which does not use the peak
  std::int64_t dim = 0;     // the model's width, used by the paper's form
  std::int64_t warmup = 0;  // in steps; 0 or 1: no warm-up
  std::int64_t total = 0;   // cosine, linear: the step that reaches min_lr
  double decay = 0.5;       // plateau: the factor by which each evaluation without a new best loss multiplies the rate
};

// The learning rate of a step; steps are counted from 1. `num_bad_epochs` is the number of evaluations so far whose
// loss was not below the best one before. Throws Error for a step below 1.
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
// Without warm-up inverse_sqrt falls from step 1 on, as if warmup were 1.
double learning_rate(const ScheduleSpec& schedule, std::int64_t step, std::int64_t num_bad_epochs = 0);

}  // namespace tapeformer
