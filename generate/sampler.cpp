#include "generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "autograd/kernels/scratch.h"
#include "core/error.h"
#include "core/parallel.h"

namespace tapeformer {

void check_options(const SamplingOptions& options) {
  if (!(options.temperature >= 0)) fail_usage("--temperature: expected 0 or more, got ", options.temperature);
  if (options.top_k < 0) fail_usage("--top-k: expected 0 or more, got ", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1)) fail_usage("--top-p: expected 0 < value <= 1, got ", options.top_p);
}

std::int32_t sample_token(std::span<const float> logits, const SamplingOptions& options, const RandomKey& key,
                          std::string_view name) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool finite = true, possible = false;  // whether some token can be drawn
  for (const float logit : logits) {
    finite &= logit < kInfinity;  // false for NaN
    possible |= logit > -kInfinity;
  }
  check(finite, name, ": the model's predictions are not finite numbers");
  check(possible, name, ": the model's predictions are all minus infinity");
  if (options.temperature == 0) return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());

  const kernels::Scratch<std::int32_t> id_memory(std::ssize(logits));
  std::span<std::int32_t> ids(id_memory.data(), logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::size_t sorted = 0;  // this many ids at the front are sorted, the likeliest first
  if (options.top_k > 0 && options.top_k < static_cast<std::int64_t>(ids.size())) {
    sorted = static_cast<std::size_t>(options.top_k);
    std::partial_sort(ids.begin(), ids.begin() + options.top_k, ids.end(), likelier);
    ids = ids.first(sorted);
  }

  const double highest = *std::ranges::max_element(logits);
  const auto weight = [&](std::int32_t id) { return std::exp((logits[id] - highest) / options.temperature); };
  const kernels::Scratch<double> weight_memory(std::ssize(ids));
  const std::span<double> weights(weight_memory.data(), ids.size());
  constexpr std::int64_t kExponentials = 1 << 12;  // worth a thread
  parallel_for(0, std::ssize(ids), kExponentials, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) weights[i] = weight(ids[i]);
  });
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (options.top_p < 1) {
    double kept = 0;
    std::size_t count = 0;
    while (count < ids.size() && (count == 0 || kept < options.top_p * total)) {
      if (count == sorted) {
        // Sort only a part at a time, since a few tokens of a large vocabulary usually reach p.
        sorted = std::min(ids.size(), std::max<std::size_t>(256, 8 * sorted));
        const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(count);
        const auto end = ids.begin() + static_cast<std::ptrdiff_t>(sorted);
        std::nth_element(begin, end, ids.end(), likelier);
        std::sort(begin, end, likelier);
        std::transform(begin, end, weights.begin() + static_cast<std::ptrdiff_t>(count), weight);
      }
      kept += weights[count++];
    }
    ids = ids.first(count);
    total = kept;
  }

  double rest = RandomStream(key).uniform() * total;
  std::int32_t drawn = ids.front();  // where sums are rounded, the last token that has a weight
  for (std::size_t i = 0; i < ids.size() && rest >= 0; ++i) {
    if (weights[i] <= 0) continue;
    drawn = ids[i];
    rest -= weights[i];
  }
  return drawn;
}

}  // namespace tapeformer
