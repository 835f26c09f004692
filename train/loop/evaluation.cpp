#include "train/loop/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace tapeformer {

double Evaluation::perplexity() const { return std::exp(loss()); }

double Evaluation::cost() const {
  if (metric_for_best_model.empty()) return loss();
  const auto found = std::ranges::find(metrics, metric_for_best_model, [](const auto& entry) { return entry.first; });
  check(found != metrics.end(), "evaluation: there is no metric ", metric_for_best_model);
  return cost_of_metric(metric_for_best_model, found->second);
}

double Evaluation::bits_per_byte(std::int64_t bytes) const {
  return nats / (std::numbers::ln2 * static_cast<double>(bytes));
}

bool smaller_is_better(std::string_view metric) { return metric == "loss" || metric.ends_with("_loss"); }

double cost_of_metric(std::string_view metric, double value) { return smaller_is_better(metric) ? value : 1 - value; }

void add_over_ranks(Evaluation& evaluation, Communicator& ranks) {
  std::vector<double> sums{static_cast<double>(evaluation.tokens), evaluation.nats};
  for (const Evaluation::Part& part : evaluation.parts) sums.push_back(part.nats);
  ranks.sum(sums);
  evaluation.tokens = static_cast<std::int64_t>(sums[0]);
  evaluation.nats = sums[1];
  for (std::size_t i = 0; i < evaluation.parts.size(); ++i) evaluation.parts[i].nats = sums[2 + i];
}

void require_finite(const Evaluation& evaluation) {
  check(std::isfinite(evaluation.nats), "the loss is ", evaluation.loss(),
        ": the model's predictions are not finite numbers");
}

}  // namespace tapeformer
