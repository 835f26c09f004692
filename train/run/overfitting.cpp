#include "train/run/overfitting.h"

#include <nlohmann/json.hpp>

namespace tapeformer {
namespace {

// The mean of the training losses between two evaluations.
struct MeanLoss {
  double sum = 0;
  int lines = 0;
  std::optional<double> take() {
    if (lines == 0) return std::nullopt;
    const double mean = sum / lines;
    *this = {};
    return mean;
  }
};

}  // namespace

std::optional<Overfitting> find_overfitting(std::span<const nlohmann::ordered_json> lines, std::int64_t best_step) {
  constexpr double kNoticeable = 1.02;
  std::optional<Overfitting> found;
  MeanLoss mean;
  for (const auto& line : lines) {
    const auto training = line.find(line.contains("unsmoothed_loss") ? "unsmoothed_loss" : "loss");
    if (training != line.end() && training->is_number()) mean.sum += training->get<double>(), ++mean.lines;
    const auto evaluation = line.find("eval_loss");
    if (evaluation == line.end() || !evaluation->is_number()) continue;
    const std::optional<double> since = mean.take();
    if (!since) continue;
    const auto step = line["step"].get<std::int64_t>();
    const auto loss = evaluation->get<double>();
    if (step == best_step) found = {.step = step, .best = loss, .last = loss, .before = *since, .after = *since};
    if (found) found->last = loss, found->after = *since;
  }
  if (!found || found->last <= kNoticeable * found->best) return std::nullopt;
  return found->after < found->before && found->after < found->last ? found : std::nullopt;
}

}  // namespace tapeformer
