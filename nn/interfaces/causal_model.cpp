#include "nn/interfaces/causal_model.h"

#include "nn/layers/lm_head.h"

namespace tapeformer {

Variable CausalModel::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const {
  return loss_of_logits(logits(forward(ids)), targets.value(), options);
}

}  // namespace tapeformer
