// The interface of models that read a source and write a target, for training, evaluation and translation.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "nn/interfaces/model.h"

namespace tapeformer {

// A batch of source sentences: ids i32 (B, S). Row b has lengths[b] tokens (i32 (B)); padding follows them.
struct SourceBatch {
  Tensor ids, lengths;
};

// Returns a tensor whose row i is row rows[i] of x (B, …). x is f32 or f64.
Tensor select_rows(const Tensor& x, std::span<const std::int64_t> rows);

// The encoder's output for a batch of sources: hidden (B, S, dim). Row b has lengths[b] tokens (i32 (B)); padding
// follows them.
struct EncoderOutput {
  Variable hidden;
  Tensor lengths;
  // The initial states of a recurrent decoder, (B, …) each, in the model's own order; empty for other decoders.
  std::vector<Variable> initial = {};
};
// Returns the output for the sources `rows`, on a tape that does not record.
EncoderOutput select_rows(const EncoderOutput& encoded, std::span<const std::int64_t> rows);

// The name under which a decoder passes its cross-attention weights to its tape's observer (TapeOptions): (R, heads, T,
// S), before dropout, layer after layer.
inline constexpr std::string_view kCrossAttentionWeights = "cross_attention.weights";
// The name for what each head of a Transformer adds to the residual stream, (R, heads, T, dim), as kSelfAttentionHeads.
inline constexpr std::string_view kCrossAttentionHeads = "cross_attention.heads";

// The state of a decoder after the target tokens that it has read, which makes the next token cheap.
class DecoderState {
 public:
  virtual ~DecoderState() = default;
  // Replaces row i of the targets by the old row rows[i]. A row may be used several times, or not at all.
  virtual void select_targets(std::span<const std::int64_t> rows) = 0;
  // Does the same for the sources.
  virtual void select_sources(std::span<const std::int64_t> rows) = 0;
};

// As a Model, it is its encoder: it reads sources and gives their positions vectors. context() limits sources and
// targets.
class EncoderDecoder : public Model {
 public:
  virtual std::int64_t target_vocab() const = 0;

  virtual EncoderOutput encode(Tape& tape, const SourceBatch& source) const = 0;
  // Returns a state that has read nothing yet, for targets of up to `length` tokens and sources of `source_length`
  // tokens.
  virtual std::unique_ptr<DecoderState> make_state(std::int64_t length, std::int64_t source_length) const = 0;
  // Target ids i32 (R, T), which begin with the begin token → features (R, T, F), from which logits() predicts the
  // token after each position. R is the sources' B or a multiple of it: rows i·R/B … (i + 1)·R/B − 1, such as the
  // hypotheses of a beam, attend to source i. A position does not depend on later ids, so padding at the end needs no
  // mask. With a state, ids continue the tokens that the state has read and are added to it; this needs a tape that
  // does not record.
  virtual Variable decode(const Variable& ids, const EncoderOutput& source, DecoderState* state = nullptr) const = 0;
  // Features (…, F), all or some of their rows → logits (…, target_vocab).
  virtual Variable logits(const Variable& features) const = 0;
  // Returns the cross-entropy of targets i32 (B, T) with teacher forcing, as ops.h defines it. Each target is predicted
  // from the source and the inputs (B, T) up to its position.
  virtual Variable loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                        const CrossEntropyOptions& options) const;
};

}  // namespace tapeformer
