// The recurrent encoder-decoder, with attention (Bahdanau et al. 2015, Luong et al. 2015) or without (Cho et al. 2014).
#pragma once

#include <memory>
#include <vector>

#include "nn/models/registry.h"
#include "nn/models/shared/seq2seq_model.h"
#include "nn/recurrent/recurrent_decoder.h"
#include "nn/recurrent/recurrent_encoder.h"

namespace tapeformer {

struct RnnSeq2SeqConfig {
  std::int64_t source_vocab = 0, target_vocab = 0;
  RecurrentConfig stack;  // the layers of the encoder, and of the decoder; input_dim is the width of the embeddings
  AttentionScore score = AttentionScore::additive;
  AttentionOrder order = AttentionOrder::previous;
  EncoderKind encoder = EncoderKind::bidirectional;
  TiedEmbeddings tied = TiedEmbeddings::all;
};

// Returns this family's row of the registry (registry.h).
ModelFamily rnn_seq2seq_family();

// logits_t = E r_t + b, where r_t is the output of the RecurrentDecoder, which is as wide as the embeddings, so that E
// can be tied to one of them. The initial state of a decoder layer is the last state of the encoder layer; after a
// bidirectional encoder it is s_0 = tanh(W ←h_1), with c_0 = s_0 for an LSTM. Dropout is applied to the embeddings,
// between layers and to r_t.
class RnnSeq2Seq : public Seq2SeqModel {
 public:
  // Throws UsageError if all embeddings are tied but the vocabularies differ in size, and Error for a bidirectional
  // encoder of odd width.
  explicit RnnSeq2Seq(const RnnSeq2SeqConfig& config);

  const RnnSeq2SeqConfig& config() const { return config_; }
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  bool is_causal() const override { return config_.encoder == EncoderKind::forward; }
  std::unique_ptr<Cache> make_cache(std::int64_t, std::int64_t) const override {
    return RecurrentDecoder::make_cache();
  }

  EncoderOutput encode(Tape& tape, const SourceBatch& source) const override;
  // Returns the embeddings (B, S, embedding), and the states (B, S, dim) of every layer of the encoder.
  std::vector<Variable> hidden_states(const Batch& batch) const override;
  // The features are r_t (R, T, embedding).
  Variable decode(const Variable& ids, const EncoderOutput& source, Cache* cache = nullptr) const override;
  // The logits are never in memory all at once.
  Variable loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                const CrossEntropyOptions& options) const override;

 private:
  // Returns the embeddings of the sources (S, B, embedding), with dropout.
  Variable embed_source(Tape& tape, const SourceBatch& source) const;
  // Target ids (R, T) → r_t (T, R, embedding) at all times.
  Variable readouts(const Variable& ids, const EncoderOutput& source, Cache* cache) const;

  RnnSeq2SeqConfig config_;
  Dropout dropout_;
  RecurrentEncoder encoder_;
  std::vector<std::unique_ptr<Linear>> bridges_;  // one for each layer, for a bidirectional encoder only
  RecurrentDecoder decoder_;
};

}  // namespace tapeformer
