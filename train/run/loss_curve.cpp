#include "train/run/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace tapeformer {
namespace {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Half of the 95 % confidence interval of the mean of these values.
double error_of_mean(std::span<const double> values) {
  if (values.size() < 2) return 0;
  constexpr double kStudent[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2};  // by degrees of freedom
  const double mean = mean_of(values), freedom = static_cast<double>(values.size() - 1);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return kStudent[std::min(values.size() - 2, std::size(kStudent) - 1)] *
         std::sqrt(squares / freedom / static_cast<double>(values.size()));
}

}  // namespace

std::vector<LossPoint> loss_curve(std::span<const nlohmann::ordered_json> lines) {
  std::vector<LossPoint> curve;
  std::vector<double> losses;
  for (const auto& line : lines) {
    const auto training = line.find(line.contains("unsmoothed_loss") ? "unsmoothed_loss" : "loss");
    if (training != line.end() && training->is_number()) losses.push_back(training->get<double>());
    const auto evaluation = line.find("eval_loss");
    if (evaluation == line.end() || !evaluation->is_number()) continue;
    LossPoint point{.step = line["step"].get<std::int64_t>(), .validation = evaluation->get<double>(), .training = {}};
    if (!losses.empty()) point.training = mean_of(losses), point.training_error = error_of_mean(losses);
    curve.push_back(point);
    losses.clear();
  }
  return curve;
}

}  // namespace tapeformer
