#include "nn/text_encoder.h"

#include "autograd/ops/views.h"

namespace tapeformer {

// One product for all predictions, whose value may be deferred until backward.
Variable TextEncoder::loss(const TextRows& rows, const CrossEntropyOptions& options) const {
  const std::vector<TokenPrediction> all = predictions(rows);
  std::vector<Variable> features;
  std::vector<std::int32_t> targets;
  for (const TokenPrediction& prediction : all) {
    features.push_back(reshape(prediction.features, {-1, prediction.features.size(-1)}));
    const std::vector<std::int32_t> part = prediction.targets.to_vector<std::int32_t>();
    targets.insert(targets.end(), part.begin(), part.end());
  }
  CrossEntropyOptions mean = options;
  mean.normalizer *= static_cast<double>(all.size());
  const Dims count{static_cast<std::int64_t>(targets.size())};
  return loss(concat(features, 0), Tensor::from(std::span<const std::int32_t>(targets), count), mean);
}

}  // namespace tapeformer
