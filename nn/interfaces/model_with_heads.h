// A model together with heads: modules that predict something from its vectors.
#pragma once

#include <memory>

#include "nn/interfaces/model.h"

namespace tapeformer {

// Reads the same batches as the model, and has the same hidden states. The model's parameters come first and keep their
// names; a derived class registers those of its heads after them.
class ModelWithHeads : public Model {
 public:
  std::int64_t vocab() const override { return model_->vocab(); }
  std::optional<std::int64_t> context() const override { return model_->context(); }
  bool can_exceed_context() const override { return model_->can_exceed_context(); }
  bool is_causal() const override { return model_->is_causal(); }
  bool has_special_tokens() const override { return model_->has_special_tokens(); }
  std::int32_t document_token() const override { return model_->document_token(); }
  const Embedding* token_embedding() const override { return model_->token_embedding(); }
  const PositionEmbedding* position_embedding() const override { return model_->position_embedding(); }
  std::vector<Variable> hidden_states(const Batch& batch) const override { return model_->hidden_states(batch); }
  Variable features(const Batch& batch) const override {
    return call([&] { return model_->features(batch); });
  }

 protected:
  explicit ModelWithHeads(std::unique_ptr<Model> model) : model_(std::move(model)) { register_module("", *model_); }
  // The model's token embedding, which heads share or follow in width. Throws Error if the model has none.
  const Embedding& embedding() const {
    check(token_embedding() != nullptr, "heads: expected a model with a token embedding, got one without");
    return *token_embedding();
  }

 private:
  const std::unique_ptr<Model> model_;
};

}  // namespace tapeformer
