// The interface of models: they read a batch and give each of its positions a vector in every layer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "autograd/ops/losses/losses.h"
#include "nn/module/module.h"

namespace tapeformer {

class Embedding;
class PositionEmbedding;

// What a model reads: B rows of T positions at most.
struct Batch {
  // i32 (B, T): the tokens. Undefined for a model that reads input_features.
  Variable input_ids = {};
  // i32 (B): row b has lengths[b] positions, and padding follows them. Undefined: every row is full.
  Tensor lengths = {};
  // i32 (B, T): 0 for tokens of the first segment of a row, 1 for tokens of the second segment. Undefined: all tokens
  // are in the first segment.
  Tensor token_type_ids = {};
  // (B, T, F): vectors in place of tokens; or images (B, 3, H, W). Undefined for text.
  Variable input_features = {};

  // Returns input_ids or input_features, whichever is defined.
  const Variable& inputs() const { return input_ids.defined() ? input_ids : input_features; }
  // Returns `lengths` if defined, else T for every row.
  Tensor row_lengths() const;
  // Returns the batch as constants of another tape.
  Batch on(Tape& tape) const;
};

// Returns the tokens of a batch for a model that reads tokens. Throws Error, which begins with the model's name, unless
// they are (B, T).
const Variable& ids_of(const Batch& batch, std::string_view model);
// Does the same for a model that reads no token types: throws Error for a batch that has them.
const Variable& only_ids(const Batch& batch, std::string_view model);

class Model : public Module {
 public:
  // The number of tokens that input_ids may have; 0 for a model that reads no tokens.
  virtual std::int64_t vocab() const = 0;
  // The largest number of positions of a row; empty if there is no limit.
  virtual std::optional<std::int64_t> context() const = 0;
  // Whether the model can read more than context() positions, which is then only the length for which it is trained.
  virtual bool can_exceed_context() const { return false; }
  // Whether a position's vectors depend only on this position and those before it.
  virtual bool is_causal() const { return false; }
  // Whether rows of text have special tokens: they begin with [CLS] and end with [SEP].
  virtual bool has_special_tokens() const { return false; }
  // The token with which a document begins, if tokens attend only within their document; -1: a row of tokens is one
  // text.
  virtual std::int32_t document_token() const { return -1; }
  // The embeddings of input_ids and of positions; null if the model has none.
  virtual const Embedding* token_embedding() const { return nullptr; }
  virtual const PositionEmbedding* position_embedding() const { return nullptr; }

  // Returns the vectors of the positions (B, T, F): first those of the embedding, which do not depend on other
  // positions, then those of each layer. F may differ between layers. The vectors of padding have no meaning.
  virtual std::vector<Variable> hidden_states(const Batch& batch) const = 0;
  // Returns the vectors of the last layer (B, T, F), from which heads predict. In training, they may have a dropout
  // that hidden_states() leaves out.
  virtual Variable features(const Batch& batch) const { return hidden_states(batch).back(); }
};

}  // namespace tapeformer
