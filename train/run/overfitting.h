// Detects overfitting: after the minimum of the validation loss, only the training loss fell.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "train/run/loss_curve.h"

namespace tapeformer {

struct Overfitting {
  std::int64_t step = 0;      // the step of the best evaluation
  double best = 0, last = 0;  // the validation losses of the best and of the last evaluation
  // The mean training loss between the best evaluation and the evaluation before it, and likewise for the last
  // evaluation. Where no step between them was logged, `before` is that of the first later evaluation that has one, and
  // `after` that of the last earlier one.
  double before = 0, after = 0;
};

// The evaluation at `best_step` has the smallest loss. Returns nullopt unless the last validation loss is more than 2 %
// above the smallest one, while the training loss fell and is below the validation loss.
std::optional<Overfitting> find_overfitting(std::span<const LossPoint> curve, std::int64_t best_step);

}  // namespace tapeformer
