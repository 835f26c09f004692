// The encoder-decoder (Vaswani et al. 2017): reads a source sentence, and writes its target token by token.
#pragma once

#include "autograd/ops/losses.h"
#include "nn/block.h"
#include "nn/positions.h"

namespace tapeformer {

// Which of the source embedding, the target embedding and the output matrix are one: none, the last two, or all.
enum class TiedEmbeddings { none, output, all };

struct TransformerConfig {
  std::int64_t source_vocab = 0, target_vocab = 0;
  std::int64_t context = 128;  // the most tokens of a source, and of a target
  std::int64_t layers = 6;     // of the encoder, and of the decoder
  BlockConfig block;
  PositionKind position = PositionKind::sinusoidal;
  double position_base = 10000;
  TiedEmbeddings tied = TiedEmbeddings::all;
};

// Source sentences as a batch: ids i32 (B, S), of which row b has lengths[b] tokens (i32 (B)) and padding behind them.
struct SourceBatch {
  Tensor ids, lengths;
};

// Embeddings begin normal with deviation 1/√dim and are multiplied by √dim.
class Transformer : public Module {
 public:
  // Throws UsageError when all embeddings are to be one but the vocabularies differ in size.
  explicit Transformer(const TransformerConfig& config);

  const TransformerConfig& config() const { return config_; }

  EncoderOutput encode(Tape& tape, const SourceBatch& source) const;
  // The stream of the decoder (R, T, dim) for target ids i32 (R, T) that begin with the start of a sentence; R as in
  // CrossAttention. What stands behind a position has no effect on it, so padding at the end needs no mask. With a
  // cache, ids continue the cached tokens.
  Variable decode(const Variable& ids, const EncoderOutput& encoded, StackCache* cache = nullptr) const;
  // decode()'s result, or rows of it (…, dim) → logits (…, target_vocab).
  Variable logits(const Variable& hidden) const;
  // For targets of up to `length` tokens, and sources of `source_length`.
  StackCache make_cache(std::int64_t length, std::int64_t source_length) const {
    return decoder_.make_cache(length, source_length);
  }

  // Teacher forcing: cross-entropy of targets i32 (B, T), each given the source and the inputs (B, T) up to its place,
  // as ops.h says, without ever holding all logits.
  Variable loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                const CrossEntropyOptions& options) const;

 private:
  Variable embed(const Embedding& embedding, const PositionEmbedding& positions, const Variable& ids,
                 std::int64_t first) const;

  TransformerConfig config_;
  Embedding source_embedding_;
  Embedding target_embedding_;  // not registered where it is the source's
  PositionEmbedding source_positions_, target_positions_;
  Dropout dropout_;
  BlockStack encoder_, decoder_;
  Variable head_;
};

}  // namespace tapeformer
