#include "tasks/skip_gram/skip_gram_model.h"

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "tasks/common/models.h"

namespace tapeformer {

SkipGramModel::SkipGramModel(std::unique_ptr<Model> model)
    : ModelWithHeads(std::move(model)),
      context_embedding_(embedding().weight.size(0), embedding().weight.size(1), Init::zeros(),
                         embedding().weight.value().dtype()) {
  register_module("context_embedding", context_embedding_);
}

// Since −ln σ(x) = softplus(−x), the term of a predicted token is softplus(−u·v), that of a negative softplus(u·v).
Variable SkipGramModel::loss(const SkipGramPairs& pairs, double normalizer) const {
  const Dims sizes = pairs.outputs.sizes();
  const Dims inputs = pairs.inputs.sizes();
  check(sizes.rank() == 3 && inputs.rank() == 2 && inputs[0] == sizes[0] && sizes[2] >= 1, "skip-gram: the inputs are ",
        inputs, ", the outputs ", sizes, ": expected (N, I) and (N, C, 1 + k)");
  Variable vectors = features({.input_ids = pairs.inputs});
  if (inputs[1] > 1) vectors = mean(vectors, 1, /*keep=*/true);
  const std::int64_t dim = vectors.size(2);
  const Variable v = reshape(vectors, {sizes[0], dim, 1});
  const Variable u = reshape(context_embedding_.forward(pairs.outputs), {sizes[0], sizes[1] * sizes[2], dim});
  const Variable scores = reshape(matmul(u, v), sizes);
  const Tensor signs = Tensor::full({sizes[2]}, scores.dtype(), 1);
  signs.slice(0, 0, 1).fill(-1);
  return scale(sum(softplus(mul(scores, Variable::constant(*v.tape(), signs)))), 1 / normalizer);
}

std::unique_ptr<SkipGramModel> make_skip_gram_model(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  return with_adapters(config, std::make_unique<SkipGramModel>(make_model_for("skip_gram", config, vocabulary)));
}

}  // namespace tapeformer
