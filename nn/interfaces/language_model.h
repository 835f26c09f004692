// What training, evaluation and generation know of a model that predicts the next token of a text.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "autograd/ops/losses/losses.h"
#include "nn/module/module.h"

namespace tapeformer {

// What a model keeps of the tokens that it has read, so that the next one costs little: keys and values, or the hidden
// state of a recurrent model.
class LanguageState {
 public:
  virtual ~LanguageState() = default;
  // Forgets all tokens.
  virtual void clear() = 0;
};

// The tokens that evaluation scores in one window of a model without a context limit.
inline constexpr std::int64_t kUnlimitedWindow = 1024;

class LanguageModel : public Module {
 public:
  virtual std::int64_t vocab() const = 0;
  // The most tokens that the model can look at; nothing where there is no limit.
  virtual std::optional<std::int64_t> context() const = 0;
  // Whether context() is only what the model is trained for, and it can look at more tokens.
  virtual bool can_exceed_context() const { return false; }
  // The token with which a document begins, for a model that never looks past it; -1: a row of tokens is one text.
  virtual std::int32_t document_token() const { return -1; }

  // A state that has read nothing yet.
  virtual std::unique_ptr<LanguageState> make_state() const = 0;
  // ids i32 (B, T) → features (B, T, F), from which logits() predicts the token after each place. With a state, ids
  // continue the tokens that it has read, and it reads them; only on a tape that does not record. Throws Error beyond
  // a context that the model cannot exceed.
  virtual Variable forward(const Variable& ids, LanguageState* state = nullptr) const = 0;
  // ids i32 (B, T) → the vectors of the tokens (B, T, F): those of the embedding, which know nothing of other tokens,
  // then those of each layer, of which the last are the features of forward(). F may differ from layer to layer.
  virtual std::vector<Variable> hidden_states(const Variable& ids) const = 0;
  // Features (…, F), all or some of their rows → logits (…, vocab).
  virtual Variable logits(const Variable& features) const = 0;
  // The cross-entropy of targets i32 (B, T), as ops.h defines it. On a tape of options.recompute the model must live
  // until backward.
  virtual Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const;
};

}  // namespace tapeformer
