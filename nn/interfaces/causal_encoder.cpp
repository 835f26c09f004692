#include "nn/interfaces/causal_encoder.h"

#include "nn/layers/lm_head.h"

namespace tapeformer {

CausalEncoder::CausalEncoder(std::unique_ptr<CausalModel> model) : model_(std::move(model)) {
  register_module("", *model_);
}

std::vector<Variable> CausalEncoder::hidden_states(const Batch& rows) const {
  check(!rows.segments.defined(), "causal encoder: the rows have segments, which a language model does not read");
  return model_->hidden_states(rows.ids);
}

Variable CausalEncoder::loss(const Variable& features, const Tensor& targets,
                             const CrossEntropyOptions& options) const {
  return loss_of_logits(model_->logits(features), targets, options);
}

}  // namespace tapeformer
