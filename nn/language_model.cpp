#include "nn/language_model.h"

#include "autograd/ops/ops.h"

namespace tapeformer {

Variable LanguageModel::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const {
  const Variable rows = reshape(logits(forward(ids)), {-1, vocab()});
  return cross_entropy(rows, Variable::constant(*ids.tape(), targets.value().reshape({-1})), options);
}

}  // namespace tapeformer
