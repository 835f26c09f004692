#include "train/run/loss_curve.h"

#include <nlohmann/json.hpp>

namespace tapeformer {

std::vector<LossPoint> loss_curve(std::span<const nlohmann::ordered_json> lines) {
  std::vector<LossPoint> curve;
  double sum = 0;
  int count = 0;
  for (const auto& line : lines) {
    const auto training = line.find(line.contains("unsmoothed_loss") ? "unsmoothed_loss" : "loss");
    if (training != line.end() && training->is_number()) sum += training->get<double>(), ++count;
    const auto evaluation = line.find("eval_loss");
    if (evaluation == line.end() || !evaluation->is_number()) continue;
    curve.push_back({line["step"].get<std::int64_t>(), evaluation->get<double>(),
                     count > 0 ? std::optional(sum / count) : std::nullopt});
    sum = count = 0;
  }
  return curve;
}

}  // namespace tapeformer
