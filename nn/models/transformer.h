// The encoder-decoder Transformer (Vaswani et al. 2017), which reads a source sentence and writes its target token by
// token.
#pragma once

#include "nn/blocks/block.h"
#include "nn/layers/positions.h"
#include "nn/models/registry.h"
#include "nn/models/shared/seq2seq_model.h"

namespace tapeformer {

struct TransformerConfig {
  std::int64_t source_vocab = 0, target_vocab = 0;
  std::int64_t context = 128;  // the largest number of tokens of a source, and of a target
  std::int64_t layers = 6;     // number of layers of the encoder, and of the decoder
  BlockConfig block;
  PositionConfig position = SinusoidalPositions{};
  std::optional<double> embedding_scale = {};  // the factor of token embeddings; empty: √dim
  TiedEmbeddings tied = TiedEmbeddings::all;
  double logit_softcap = 0;  // the bound of the logits; 0: none
};

// Returns this family's row of the registry (registry.h).
ModelFamily transformer_family();

// The initial values of embeddings are normal with standard deviation 1/√dim; token embeddings are multiplied by √dim,
// or as configured.
class Transformer : public Seq2SeqModel {
 public:
  // Throws UsageError if all embeddings are tied but the vocabularies differ in size.
  explicit Transformer(const TransformerConfig& config);

  const TransformerConfig& config() const { return config_; }
  std::optional<std::int64_t> context() const override { return config_.context; }
  const PositionEmbedding* position_embedding() const override { return &source_positions_; }
  std::unique_ptr<Cache> make_cache(std::int64_t length, std::int64_t source_length) const override {
    return decoder_.make_cache(length, source_length);
  }

  EncoderOutput encode(Tape& tape, const SourceBatch& source) const override {
    return {encoder_.forward(embed_source(tape, source), encoder_context(source)), source.lengths};
  }
  // Returns (B, S, dim) each: the sum of token and position embeddings, and the output of every block of the encoder.
  std::vector<Variable> hidden_states(const Batch& batch) const override;
  // The features are the decoder's residual stream (R, T, dim).
  Variable decode(const Variable& ids, const EncoderOutput& source, Cache* cache = nullptr) const override {
    return decode_rows(ids, {}, source, cache);
  }
  // The logits are never in memory all at once.
  Variable loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                const CrossEntropyOptions& options) const override;

 private:
  static BlockContext encoder_context(const SourceBatch& source) {
    return {.mask = {.causal = false, .lengths = source.lengths}, .lengths = source.lengths};
  }
  // Decodes targets (R, T) of which row r has lengths[r] tokens (i32 (R)); undefined: T.
  Variable decode_rows(const Variable& ids, const Tensor& lengths, const EncoderOutput& source, Cache* cache) const;
  Variable embed_source(Tape& tape, const SourceBatch& source) const;
  Variable embed(const Embedding& embedding, const PositionEmbedding& positions, const Variable& ids,
                 std::int64_t first) const;

  TransformerConfig config_;
  PositionEmbedding source_positions_, target_positions_;
  Dropout dropout_;
  BlockStack encoder_, decoder_;
};

}  // namespace tapeformer
