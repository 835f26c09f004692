#include "tasks/glove/glove_model.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "tasks/common/models.h"

namespace tapeformer {

double GloveWeighting::weight(double count) const { return std::min(1.0, std::pow(count / x_max, alpha)); }

GloveModel::GloveModel(std::unique_ptr<Model> model)
    : ModelWithHeads(std::move(model)),
      context_embedding_(vocab(), table().size(1), Init::uniform(0.5 / static_cast<double>(table().size(1))),
                         table().value().dtype()),
      bias_(vocab(), 1, Init::zeros(), table().value().dtype()),
      context_bias_(vocab(), 1, Init::zeros(), table().value().dtype()) {
  register_module("context_embedding", context_embedding_);
  register_module("bias_embedding", bias_);
  register_module("context_bias_embedding", context_bias_);
}

std::vector<Variable> GloveModel::hidden_states(const Batch& batch) const {
  return {add(features(batch), context_embedding_.forward(ids_of(batch, "glove")))};
}

Variable GloveModel::predict(const Variable& i, const Variable& j) const {
  const std::int64_t pairs = i.size(0);
  const Variable w = reshape(features({.input_ids = reshape(i, {pairs, 1})}), {pairs, -1});
  const Variable products = sum(mul(w, context_embedding_.forward(j)), 1);
  const Variable biases = add(bias_.forward(i), context_bias_.forward(j));
  return add(products, reshape(biases, {pairs}));
}

Variable tokens_of(Tape& tape, std::span<const Cooccurrence> pairs, std::int32_t Cooccurrence::*token) {
  std::vector<std::int32_t> ids;
  for (const Cooccurrence& pair : pairs) ids.push_back(pair.*token);
  return Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), {std::ssize(ids)}));
}

Variable GloveModel::loss(Tape& tape, std::span<const Cooccurrence> pairs, const GloveWeighting& weighting,
                          double normalizer) const {
  const Variable predicted =
      predict(tokens_of(tape, pairs, &Cooccurrence::i), tokens_of(tape, pairs, &Cooccurrence::j));
  std::vector<double> logs, weights;
  for (const Cooccurrence& pair : pairs) {
    logs.push_back(std::log(pair.count));
    weights.push_back(weighting.weight(pair.count) / normalizer);
  }
  const auto constant = [&](const std::vector<double>& values) {
    const Tensor tensor = Tensor::from(std::span<const double>(values), {std::ssize(values)});
    return Variable::constant(tape, tensor.to(predicted.dtype()));
  };
  return sum(mul(constant(weights), square(sub(predicted, constant(logs)))));
}

std::unique_ptr<GloveModel> make_glove_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return with_adapters(config, std::make_unique<GloveModel>(make_model_for("glove", config, vocabulary)));
}

}  // namespace tapeformer
