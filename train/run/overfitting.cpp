#include "train/run/overfitting.h"

namespace tapeformer {

std::optional<Overfitting> find_overfitting(std::span<const LossPoint> curve, std::int64_t best_step) {
  constexpr double kNoticeable = 1.02;
  std::optional<Overfitting> found;
  for (const LossPoint& point : curve) {
    if (!point.training) continue;
    const double loss = point.validation, since = *point.training;
    if (point.step == best_step)
      found = {.step = best_step, .best = loss, .last = loss, .before = since, .after = since};
    if (found) found->last = loss, found->after = since;
  }
  if (!found || found->last <= kNoticeable * found->best) return std::nullopt;
  return found->after < found->before && found->after < found->last ? found : std::nullopt;
}

}  // namespace tapeformer
