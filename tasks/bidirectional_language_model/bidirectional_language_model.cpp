#include "tasks/bidirectional_language_model/bidirectional_language_model.h"

#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "core/ignored_target.h"
#include "nn/models/shared/recurrent_keys.h"
#include "nn/models/shared/tied_embeddings.h"
#include "tasks/common/models.h"

namespace tapeformer {
namespace {

// Returns the ids at the times [begin, end) as targets (T − 1, B) of the pairs (x_i, x_{i+1}), i = 0 … T − 2, in the
// order of time. A pair that contains padding gets kIgnoredTarget.
Tensor targets_at(const Batch& batch, std::int64_t begin, std::int64_t end) {
  const Tensor targets = batch.input_ids.value().slice(1, begin, end).transpose(0, 1).clone();
  if (!batch.lengths.defined()) return targets;
  const std::span<const std::int32_t> lengths = batch.lengths.span<std::int32_t>();
  const std::int64_t pairs = targets.size(0), rows = targets.size(1);
  std::int32_t* const ids = targets.data<std::int32_t>();
  for (std::int64_t i = 0; i < pairs; ++i) {
    for (std::int64_t b = 0; b < rows; ++b) {
      if (i + 1 >= lengths[b]) ids[i * rows + b] = kIgnoredTarget;
    }
  }
  return targets;
}

}  // namespace

BidirectionalLanguageModel::BidirectionalLanguageModel(std::unique_ptr<Model> model,
                                                       const BidirectionalHeadConfig& head)
    : ModelWithHeads(std::move(model)),
      head_(embedding(), head.tie_embeddings, head.dim, /*with_bias=*/true, head.init,
            embedding().weight.value().dtype()) {
  register_module("head", head_);
}

// For each pair (x_i, x_{i+1}), the forward direction predicts x_{i+1} at x_i, and the backward direction predicts x_i
// at x_{i+1}.
std::array<TokenPrediction, 2> BidirectionalLanguageModel::predictions(const Batch& batch) const {
  const Variable both = transpose(features(batch), 0, 1);
  const std::int64_t length = both.size(0), width = both.size(2);
  check(length >= 2, "bidirectional language model: the rows have ", length,
        " token: at least 2 are needed to predict one from another");
  const Variable forward = slice(both, 2, 0, width / 2), backward = slice(both, 2, width / 2, width);
  return {{{slice(forward, 0, 0, length - 1), targets_at(batch, 1, length)},
           {slice(backward, 0, 1, length), targets_at(batch, 0, length - 1)}}};
}

// Both directions go through the head in one matrix product, whose value may be deferred until backward.
Variable BidirectionalLanguageModel::loss(const Batch& batch, const CrossEntropyOptions& options) const {
  const std::array<TokenPrediction, 2> both = predictions(batch);
  std::vector<Variable> features;
  std::vector<std::int32_t> targets;
  for (const TokenPrediction& prediction : both) {
    features.push_back(reshape(prediction.features, {-1, prediction.features.size(-1)}));
    const std::vector<std::int32_t> part = prediction.targets.to_vector<std::int32_t>();
    targets.insert(targets.end(), part.begin(), part.end());
  }
  CrossEntropyOptions mean = options;
  mean.normalizer *= static_cast<double>(both.size());
  return loss(concat(features, 0), Tensor::from(std::span<const std::int32_t>(targets), {std::ssize(targets)}), mean);
}

std::unique_ptr<BidirectionalLanguageModel> make_bidirectional_language_model(const ResolvedConfig& config,
                                                                              const ModelVocabulary& vocabulary) {
  const KeyValues& options = config.model.options;
  auto model = make_model_for("bidirectional_language_model", config, vocabulary);
  const RecurrentConfig stack = recurrent_config(options);
  return with_adapters(config, std::make_unique<BidirectionalLanguageModel>(
                                   std::move(model), BidirectionalHeadConfig{.dim = stack.dim,
                                                                             .tie_embeddings = ties_embeddings(options),
                                                                             .init = head_init(stack)}));
}

}  // namespace tapeformer
