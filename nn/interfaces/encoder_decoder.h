// The interface of models that read a source, a sentence or an image, and write a target, for training, evaluation,
// translation and captions.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "nn/interfaces/cache.h"
#include "nn/interfaces/model.h"

namespace tapeformer {

// A batch of sources. Sentences: ids i32 (B, S). Row b has lengths[b] tokens (i32 (B)); padding follows them. Or
// images, f32 (B, 3, H, W) with values in ±1, for a model that reads images.
struct SourceBatch {
  Tensor ids, lengths;
  Tensor images = {};
};

// The encoder's output for a batch of sources: hidden (B, S, dim). Row b has lengths[b] tokens (i32 (B)); padding
// follows them.
struct EncoderOutput {
  Variable hidden;
  Tensor lengths;
  // The initial states of a recurrent decoder, (B, …) each, in the model's own order; empty for other decoders.
  std::vector<Variable> initial = {};
};
// Returns the encoder's output for the sources rows[0], rows[1], …, on a tape that does not record.
EncoderOutput select_rows(const EncoderOutput& encoded, std::span<const std::int64_t> rows);

// Returns the sources to which the target rows `rows` belong, in order, if rows i·n … (i + 1)·n − 1 belong to source i,
// where n = rows_per_source. Throws Error unless the rows of a source are side by side, and every source has equally
// many rows.
std::vector<std::int64_t> selected_sources(std::span<const std::int64_t> rows, std::int64_t rows_per_source);

// The name under which a decoder passes its cross-attention weights to its tape's observer (TapeOptions): (R, heads, T,
// S), before dropout, layer after layer.
inline constexpr std::string_view kCrossAttentionWeights = "cross_attention.weights";
// The name under which a Transformer's decoder passes what each head of cross-attention adds to the residual stream,
// (R, heads, T, dim); see kSelfAttentionHeads.
inline constexpr std::string_view kCrossAttentionHeads = "cross_attention.heads";

// The members of Model concern the encoder alone: hidden_states() are the encoder's vectors of the sources; a model of
// images reads them as input_features, and its vocab() is 0. context() limits sources of tokens, and targets.
class EncoderDecoder : public Model {
 public:
  virtual std::int64_t target_vocab() const = 0;

  virtual EncoderOutput encode(Tape& tape, const SourceBatch& source) const = 0;
  // Returns a cache that has read nothing yet, for targets of up to `length` tokens and sources of `source_length`
  // tokens. It has a row for each target, and keeps what the decoder computes from their sources as well.
  virtual std::unique_ptr<Cache> make_cache(std::int64_t length, std::int64_t source_length) const = 0;
  // Target ids i32 (R, T), which begin with the begin token → features (R, T, F), from which logits() predicts the
  // token after each position. R is the sources' B or a multiple of it: rows i·R/B … (i + 1)·R/B − 1, such as the
  // hypotheses of a beam, attend to source i. A position does not depend on later ids, so padding at the end needs no
  // mask. With a cache, ids continue the tokens that the cache has read and are added to it; this needs a tape that
  // does not record. After Cache::select(rows), `source` is select_rows(source, selected_sources(rows, R/B)).
  virtual Variable decode(const Variable& ids, const EncoderOutput& source, Cache* cache = nullptr) const = 0;
  // Features (…, F), all or some of their rows → logits (…, target_vocab).
  virtual Variable logits(const Variable& features) const = 0;
  // Returns the cross-entropy of targets i32 (B, T) with teacher forcing, as ops.h defines it. Each target is predicted
  // from the source and the inputs (B, T) up to its position.
  virtual Variable loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                        const CrossEntropyOptions& options) const;
};

}  // namespace tapeformer
