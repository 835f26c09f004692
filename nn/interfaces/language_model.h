// The interface of models that predict the next token of a text, for training, evaluation and generation.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "autograd/ops/losses/losses.h"
#include "nn/interfaces/cache.h"
#include "nn/module/module.h"

namespace tapeformer {

// The number of tokens that evaluation scores in one window, for a model without a context limit.
inline constexpr std::int64_t kUnlimitedWindow = 1024;

class LanguageModel : public Module {
 public:
  virtual std::int64_t vocab() const = 0;
  // The largest number of tokens that the model can read; empty if there is no limit.
  virtual std::optional<std::int64_t> context() const = 0;
  // Whether the model can read more than context() tokens, which is then only the length for which it is trained.
  virtual bool can_exceed_context() const { return false; }
  // The token with which a document begins, if tokens attend only within their document; -1: a row of tokens is one
  // text.
  virtual std::int32_t document_token() const { return -1; }

  // Returns a cache that has read nothing yet.
  virtual std::unique_ptr<Cache> make_cache() const = 0;
  // ids i32 (B, T) → features (B, T, F), from which logits() predicts the token after each position. With a cache, ids
  // continue the tokens that the cache has read and are added to it; this needs a tape that does not record. Throws
  // Error if there are more tokens than the context and the model cannot exceed it.
  virtual Variable forward(const Variable& ids, Cache* cache = nullptr) const = 0;
  // ids i32 (B, T) → the vectors of the tokens (B, T, F): first those of the embedding, which do not depend on other
  // tokens, then those of each layer. Those of the last layer are the features of forward(). F may differ between
  // layers.
  virtual std::vector<Variable> hidden_states(const Variable& ids) const = 0;
  // Features (…, F), all or some of their rows → logits (…, vocab).
  virtual Variable logits(const Variable& features) const = 0;
  // Returns the cross-entropy of targets i32 (B, T), as ops.h defines it. On a tape with options.recompute the model
  // must live until backward.
  virtual Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const;
};

}  // namespace tapeformer
