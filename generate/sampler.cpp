#include "generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "autograd/core/error.h"

namespace tapeformer {

void check_options(const SamplingOptions& options) {
  if (!(options.temperature >= 0)) fail_usage("temperature: expected 0 or more, got ", options.temperature);
  if (options.top_k < 0) fail_usage("top-k: expected 0 or more, got ", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1)) fail_usage("top-p: expected 0 < value <= 1, got ", options.top_p);
}

std::int32_t sample_token(std::span<const float> logits, const SamplingOptions& options, const RandomKey& key) {
  if (options.temperature == 0) return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());

  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  if (options.top_k > 0 && options.top_k < static_cast<std::int64_t>(ids.size())) {
    std::partial_sort(ids.begin(), ids.begin() + options.top_k, ids.end(), likelier);
    ids.resize(options.top_k);
  } else if (options.top_p < 1) {
    std::ranges::sort(ids, likelier);
  }

  const double highest = *std::ranges::max_element(logits);
  std::vector<double> weights;
  weights.reserve(ids.size());
  for (std::int32_t id : ids) weights.push_back(std::exp((logits[id] - highest) / options.temperature));
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (options.top_p < 1) {
    double kept = 0;
    std::size_t count = 0;
    while (count < weights.size() && (count == 0 || kept < options.top_p * total)) kept += weights[count++];
    ids.resize(count);
    total = kept;
  }

  double rest = RandomStream(key).uniform() * total;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    rest -= weights[i];
    if (rest < 0) return ids[i];
  }
  return ids.back();
}

}  // namespace tapeformer
