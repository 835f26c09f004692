#include "train/run/overfitting.h"

namespace tapeformer {

std::optional<Overfitting> find_overfitting(std::span<const LossPoint> curve, std::int64_t best_step) {
  constexpr double kNoticeable = 1.02;
  std::optional<Overfitting> found;
  std::optional<double> before;
  for (const LossPoint& point : curve) {
    const double loss = point.validation;
    if (point.step == best_step) found = {.step = best_step, .best = loss, .last = loss, .before = 0, .after = 0};
    if (!found) continue;
    found->last = loss;
    if (!point.training) continue;
    if (!before) before = found->before = *point.training;
    found->after = *point.training;
  }
  if (!found || !before || found->last <= kNoticeable * found->best) return std::nullopt;
  return found->after < found->before && found->after < found->last ? found : std::nullopt;
}

}  // namespace tapeformer
