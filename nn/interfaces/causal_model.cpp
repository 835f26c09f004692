#include "nn/interfaces/causal_model.h"

#include "nn/layers/lm_head.h"

namespace tapeformer {

Variable CausalModel::loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const {
  return loss_of_logits(logits(forward(ids)), targets.value(), options);
}

Variable CausalModel::packed_loss(const Variable&, const PackedRows&, const Variable&,
                                  const CrossEntropyOptions&) const {
  fail("packed rows: expected a model that keeps documents apart, got one that reads on where a document ends");
}

}  // namespace tapeformer
