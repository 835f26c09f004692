// The losses of a training, evaluation by evaluation.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

namespace tapeformer {

struct LossPoint {
  std::int64_t step = 0;
  double validation = 0;
  // The mean training loss, without label smoothing and z-loss, of the lines since the evaluation before; nullopt if
  // there are none.
  std::optional<double> training;
  // How far that mean may be from the mean of all steps since then, of which the lines are a sample: half of its 95 %
  // confidence interval (Student 1908). 0 for a single line, which has no spread.
  double training_error = 0;
};

// Returns a point for each evaluation in these lines of metrics.jsonl, in order.
std::vector<LossPoint> loss_curve(std::span<const nlohmann::ordered_json> lines);

}  // namespace tapeformer
