// A language model used as a text encoder.
#pragma once

#include <memory>

#include "nn/interfaces/causal_model.h"
#include "nn/interfaces/model.h"

namespace tapeformer {

// The vectors of a token come from the layers of the language model and depend on this token and the tokens before it;
// the last one predicts the next token. The parameters keep their names of the language model.
class CausalEncoder : public Model {
 public:
  explicit CausalEncoder(std::unique_ptr<CausalModel> model);

  std::int64_t vocab() const override { return model_->vocab(); }
  std::optional<std::int64_t> context() const override { return model_->context(); }
  bool is_causal() const override { return true; }
  // Padding follows a row's tokens, so no token sees it. Throws Error for rows with segments.
  std::vector<Variable> hidden_states(const Batch& rows) const override;
  Variable logits(const Variable& features) const override { return model_->logits(features); }
  Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const override;

 private:
  const std::unique_ptr<CausalModel> model_;
};

}  // namespace tapeformer
