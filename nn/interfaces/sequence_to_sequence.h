// What training, evaluation and translation know of a model that reads a source and writes a target.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "autograd/ops/losses/losses.h"
#include "nn/module/module.h"

namespace tapeformer {

// Source sentences as a batch: ids i32 (B, S). Row b has lengths[b] tokens (i32 (B)); padding follows them.
struct SourceBatch {
  Tensor ids, lengths;
};

// Row i of the result (rows, …) is row rows[i] of x (B, …), which is floating.
Tensor select_rows(const Tensor& x, std::span<const std::int64_t> rows);

// What an encoder made of a batch of sources: hidden (B, S, dim). Row b has lengths[b] tokens (i32 (B)); padding
// follows them.
struct EncoderOutput {
  Variable hidden;
  Tensor lengths;
  // What a recurrent decoder begins from, (B, …) each, in an order of its own; empty for other decoders.
  std::vector<Variable> initial = {};
};
// The same for some of the sources, on a tape that does not record.
EncoderOutput select_rows(const EncoderOutput& encoded, std::span<const std::int64_t> rows);

// The name under which a decoder shows the observer of its tape (TapeOptions) the weights with which target places look
// at source tokens: (R, heads, T, S), layer after layer, before dropout.
inline constexpr std::string_view kCrossAttentionWeights = "cross_attention.weights";
// What each head of a Transformer adds to the residual stream (R, heads, T, dim): as kSelfAttentionHeads.
inline constexpr std::string_view kCrossAttentionHeads = "cross_attention.heads";

// What a decoder keeps of the target tokens that it has read, and of the sources, so that the next token costs little.
class DecoderState {
 public:
  virtual ~DecoderState() = default;
  // Row i of the targets becomes what row rows[i] was. A row may be taken often, or not at all.
  virtual void select_targets(std::span<const std::int64_t> rows) = 0;
  // The same for the sources.
  virtual void select_sources(std::span<const std::int64_t> rows) = 0;
};

class SequenceToSequence : public Module {
 public:
  virtual std::int64_t target_vocab() const = 0;
  // The most tokens of a source and of a target, each; nothing where there is no limit.
  virtual std::optional<std::int64_t> context() const = 0;

  virtual EncoderOutput encode(Tape& tape, const SourceBatch& source) const = 0;
  // The vectors that the encoder gives to the tokens of the sources (B, S, F): those of the embedding, which know
  // nothing of other tokens, then those of each layer. F may differ from layer to layer.
  virtual std::vector<Variable> source_hidden_states(Tape& tape, const SourceBatch& source) const = 0;
  // A state that has read nothing yet, for targets of up to `length` tokens and sources of `source_length`.
  virtual std::unique_ptr<DecoderState> make_state(std::int64_t length, std::int64_t source_length) const = 0;
  // Target ids i32 (R, T), which begin with the start of a sentence → features (R, T, F), from which logits() predicts
  // the token after each place. R is the sources' B or a multiple of it: rows i·R/B … (i + 1)·R/B − 1, such as the
  // hypotheses of a beam, look at source i. Later ids have no effect on a place, so padding at the end needs no mask.
  // With a state, ids continue the tokens that it has read, and it reads them; only on a tape that does not record.
  virtual Variable decode(const Variable& ids, const EncoderOutput& source, DecoderState* state = nullptr) const = 0;
  // Features (…, F), all or some of their rows → logits (…, target_vocab).
  virtual Variable logits(const Variable& features) const = 0;
  // Teacher forcing: the cross-entropy of targets i32 (B, T), as ops.h defines it. Each is predicted from the source
  // and the inputs (B, T) up to its place.
  virtual Variable loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                        const CrossEntropyOptions& options) const;
};

}  // namespace tapeformer
