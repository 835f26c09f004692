// A language model that is read as a text encoder.
#pragma once

#include <memory>

#include "nn/interfaces/language_model.h"
#include "nn/interfaces/text_encoder.h"

namespace tapeformer {

// A token's vectors are those of the language model's layers; from the last one it predicts the token after it. They
// know the token itself and those before it. The parameters have the names that they have in the language model.
class CausalEncoder : public TextEncoder {
 public:
  explicit CausalEncoder(std::unique_ptr<LanguageModel> model);

  std::int64_t vocab() const override { return model_->vocab(); }
  std::optional<std::int64_t> context() const override { return model_->context(); }
  bool is_causal() const override { return true; }
  // Padding stands behind a row's tokens, so that none of them sees it. Throws Error for rows with segments.
  std::vector<Variable> hidden_states(const EncoderBatch& rows) const override;
  Variable logits(const Variable& features) const override { return model_->logits(features); }
  Variable loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const override;

 private:
  const std::unique_ptr<LanguageModel> model_;
};

}  // namespace tapeformer
