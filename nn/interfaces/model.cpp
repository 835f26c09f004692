#include "nn/interfaces/model.h"

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "core/ignored_target.h"

namespace tapeformer {
namespace {

Tensor vector_of(const std::vector<std::int32_t>& values) {
  return Tensor::from(std::span<const std::int32_t>(values), {std::ssize(values)});
}

}  // namespace

// All predictions share one product, whose value may be deferred until backward.
Variable BidirectionalLanguageModel::loss(const Batch& rows, const CrossEntropyOptions& options) const {
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
  return loss(concat(features, 0), vector_of(targets), mean);
}

TokenPrediction scored_places(const Variable& features, const Tensor& targets) {
  const Dims sizes = features.sizes();
  check(sizes.rank() == 3 && targets.sizes() == Dims{sizes[0], sizes[1]}, "scored places: the features are ", sizes,
        ", the targets ", targets.sizes(), ": expected (B, T, F) and (B, T)");
  std::vector<std::int32_t> places, scored;
  const std::vector<std::int32_t> all = targets.to_vector<std::int32_t>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == kIgnoredTarget) continue;
    places.push_back(static_cast<std::int32_t>(i));
    scored.push_back(all[i]);
  }
  return {embedding(reshape(features, {-1, sizes[2]}), Variable::constant(*features.tape(), vector_of(places))),
          vector_of(scored)};
}

Variable MaskedLanguageModel::loss(const MaskedRows& rows, const CrossEntropyOptions& options, double sentences) const {
  const Variable features = forward(rows.text);
  const TokenPrediction chosen = scored_places(features, rows.targets);
  if (!predicts_next_sentence()) return loss(chosen.features, chosen.targets, options);
  check(rows.sentence_labels.defined(), "masked language model: next-sentence prediction needs labels of the rows");
  const Variable labels = Variable::constant(*features.tape(), rows.sentence_labels);
  const Variable next = cross_entropy(next_sentence_logits(features), labels, {.normalizer = sentences});
  if (options.nll) *options.nll += next.value().item();
  if (chosen.targets.numel() == 0) return next;
  CrossEntropyOptions now = options;
  now.deferred = false;  // the sum needs the value
  return add(loss(chosen.features, chosen.targets, now), next);
}

}  // namespace tapeformer
