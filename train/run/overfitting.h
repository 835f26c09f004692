// Detects overfitting: the training continued after the minimum of the validation loss, and only the training loss
// fell.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

namespace tapeformer {

struct Overfitting {
  std::int64_t step = 0;      // of the best evaluation
  double best = 0, last = 0;  // the validation loss there, and of the last evaluation
  // The mean training losses before the best and before the last evaluation, since the evaluation before each.
  double before = 0, after = 0;
};

// `lines` are those of metrics.jsonl; the evaluation at `best_step` has the smallest loss. Returns nullopt unless the
// last validation loss is more than a fiftieth above that, while the training loss fell and is below the validation
// loss.
std::optional<Overfitting> find_overfitting(std::span<const nlohmann::ordered_json> lines, std::int64_t best_step);

}  // namespace tapeformer
