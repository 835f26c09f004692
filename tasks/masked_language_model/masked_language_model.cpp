#include "tasks/masked_language_model/masked_language_model.h"

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "core/ignored_target.h"
#include "nn/models/shared/tied_embeddings.h"
#include "nn/models/shared/transformer_keys.h"
#include "tasks/common/models.h"

namespace tapeformer {
namespace {

Tensor row_tensor(const std::vector<std::int32_t>& values) {
  return Tensor::from(std::span<const std::int32_t>(values), {std::ssize(values)});
}

}  // namespace

MaskedLMHead::MaskedLMHead(const BlockConfig& config, const Embedding& embedding, bool tied, double softcap)
    : transform_(config.dim, config.dim, config.bias.feed_forward, config.init, config.dtype),
      norm_(make_norm(config)),
      output_(embedding, tied, config.dim, /*with_bias=*/true, config.init, config.dtype, softcap) {
  register_module("transform", transform_);
  if (norm_) register_module("norm", *norm_);
  register_module("", output_);
}

Variable MaskedLMHead::transformed(const Variable& features) const {
  return normalize(norm_, gelu(transform_.forward(features)), {});
}

TokenPrediction scored_positions(const Variable& features, const Tensor& targets) {
  const Dims sizes = features.sizes();
  check(sizes.rank() == 3 && targets.sizes() == Dims{sizes[0], sizes[1]}, "scored positions: the features are ", sizes,
        ", the targets ", targets.sizes(), ": expected (B, T, F) and (B, T)");
  std::vector<std::int32_t> positions, scored;
  const std::vector<std::int32_t> all = targets.to_vector<std::int32_t>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == kIgnoredTarget) continue;
    positions.push_back(static_cast<std::int32_t>(i));
    scored.push_back(all[i]);
  }
  return {embedding(reshape(features, {-1, sizes[2]}), Variable::constant(*features.tape(), row_tensor(positions))),
          row_tensor(scored)};
}

MaskedLanguageModel::MaskedLanguageModel(std::unique_ptr<Model> model, const BlockConfig& blocks, bool next_sentence,
                                         double logit_softcap, bool tied)
    : ModelWithHeads(std::move(model)), head_(blocks, embedding(), tied, logit_softcap) {
  if (next_sentence) {
    pooler_ = std::make_unique<Linear>(blocks.dim, blocks.dim, true, blocks.init, blocks.dtype);
    next_sentence_ = std::make_unique<Linear>(blocks.dim, 2, true, blocks.init, blocks.dtype, ParameterKind::head);
    register_module("pooler", *pooler_);
    register_module("next_sentence", *next_sentence_);
  }
  register_module("head", head_);
}

Variable MaskedLanguageModel::next_sentence_logits(const Variable& features) const {
  check(predicts_next_sentence(), "masked language model: it was made without next-sentence prediction");
  const Variable first = reshape(slice(features, 1, 0, 1), {features.size(0), features.size(2)});
  return next_sentence_->forward(tanh(pooler_->forward(first)));
}

Variable MaskedLanguageModel::loss(const MaskedRows& rows, const CrossEntropyOptions& options, double sentences) const {
  const Variable features = this->features(rows.text);
  const TokenPrediction masked = scored_positions(features, rows.targets);
  if (!predicts_next_sentence()) return loss(masked.features, masked.targets, options);
  check(rows.sentence_labels.defined(), "masked language model: next-sentence prediction needs labels of the rows");
  const Variable labels = Variable::constant(*features.tape(), rows.sentence_labels);
  const Variable next = cross_entropy(next_sentence_logits(features), labels, {.normalizer = sentences});
  if (masked.targets.numel() == 0) return next;
  CrossEntropyOptions now = options;
  now.deferred = false;  // the sum needs the value
  return add(loss(masked.features, masked.targets, now), next);
}

std::unique_ptr<MaskedLanguageModel> make_masked_language_model(const ResolvedConfig& config,
                                                                const ModelVocabulary& vocabulary) {
  const KeyValues& options = config.model.options;
  auto model = make_model_for("masked_language_model", config, vocabulary);
  BlockConfig blocks = block_config(options);
  blocks.init = Init::truncated_normal(options.number("init_std"));
  return with_adapters(
      config, std::make_unique<MaskedLanguageModel>(std::move(model), blocks, options.boolean("next_sentence"),
                                                    options.number("logit_softcap"), ties_embeddings(options)));
}

}  // namespace tapeformer
