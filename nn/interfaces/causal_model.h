// The interface of models that predict the next token of a text, for training, evaluation and generation.
#pragma once

#include <memory>

#include "nn/interfaces/cache.h"
#include "nn/interfaces/model.h"

namespace tapeformer {

class RecurrentModel;

// The number of tokens that evaluation scores in one window, for a model without a context limit.
inline constexpr std::int64_t kUnlimitedWindow = 1024;

// How several documents are packed into each row of a batch.
struct PackedRows {
  Tensor first_tokens;  // i32 (B, T): for each token, the index in its row where its document begins
  Tensor lengths;       // i32 (B): the tokens of each row, without the padding behind them
};

// A position sees only itself and earlier positions. Padding follows the tokens of a row, so no token sees it, and the
// lengths of a batch do not change the vectors of tokens. The last of the hidden_states() is what forward() returns.
class CausalModel : public Model {
 public:
  bool is_causal() const final { return true; }
  // Returns this model as a RecurrentModel, which can continue from the state after the previous row; null if it is
  // none.
  virtual const RecurrentModel* recurrent() const { return nullptr; }

  // Returns a cache that has read nothing yet.
  virtual std::unique_ptr<Cache> make_cache() const = 0;
  // ids i32 (B, T) → features (B, T, F), from which logits() predicts the token after each position. With a cache, ids
  // continue the tokens that the cache has read and are added to it; this needs a tape that does not record. Throws
  // Error if there are more tokens than the context and the model cannot exceed it.
  virtual Variable forward(const Variable& ids, Cache* cache = nullptr) const = 0;
  // Features (…, F), all or some of their rows → logits (…, vocab).
  virtual Variable logits(const Variable& features) const = 0;
  // Returns the cross-entropy of targets i32 (B, T), as ops.h defines it. On a tape with options.recompute the model
  // must live until backward.
  virtual Variable loss(const Variable& ids, const Variable& targets, const CrossEntropyOptions& options) const;
  // Does the same for rows of several documents, each of which is read as if it was alone. Throws Error for a model
  // whose family does not keep documents (ModelFamily::keeps_documents).
  virtual Variable packed_loss(const Variable& ids, const PackedRows& rows, const Variable& targets,
                               const CrossEntropyOptions& options) const;
};

}  // namespace tapeformer
