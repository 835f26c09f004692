// The recurrent encoder-decoder, with attention (Bahdanau et al. 2015, Luong et al. 2015) or without (Cho et al. 2014).
#pragma once

#include <memory>
#include <vector>

#include "nn/models/pair_embeddings.h"
#include "nn/models/registry.h"
#include "nn/recurrent/recurrent_attention.h"
#include "nn/recurrent/recurrent_encoder.h"

namespace tapeformer {

// The decoder state that is the query of the attention for target token t.
enum class AttentionOrder {
  previous,  // s_{t−1}: the context is an input of s_t    (Bahdanau et al. 2015)
  current,   // s_t: the context is used for the prediction, and reaches s_{t+1} by input feeding    (Luong et al. 2015)
};
template <>
struct Words<AttentionOrder> {
  static constexpr std::pair<AttentionOrder, std::string_view> list[] = {{AttentionOrder::previous, "previous"},
                                                                         {AttentionOrder::current, "current"}};
};

struct RnnSeq2SeqConfig {
  std::int64_t source_vocab = 0, target_vocab = 0;
  RecurrentConfig stack;  // the layers of the encoder, and of the decoder; input_dim is the width of the embeddings
  AttentionScore score = AttentionScore::additive;
  AttentionOrder order = AttentionOrder::previous;
  EncoderKind encoder = EncoderKind::bidirectional;
  TiedEmbeddings tied = TiedEmbeddings::all;
};

// Returns the row of the registry.
ModelFamily rnn_seq2seq_family();

// With y_t the embedding of target token t, s_t the state of the decoder's last layer and h_i the encoder's states,
//
//   previous   c_t = attention(s_{t−1}),  s_t = f(s_{t−1}, [y_{t−1}; c_t]),  r_t = tanh(W [s_t; y_{t−1}; c_t] + b)
//   current    s_t = f(s_{t−1}, [y_{t−1}; r_{t−1}]),  c_t = attention(s_t),  r_t = tanh(W [s_t; c_t] + b),  r_0 = 0
//
// and logits_t = E r_t + b. r_t is as wide as the embeddings, so that E can be tied to one of them. Bahdanau et al. use
// maxout instead of tanh here. Without attention there is no c_t and no input feeding. The initial state of a decoder
// layer is the last state of the encoder layer; after a bidirectional encoder it is s_0 = tanh(W ←h_1), with c_0 = s_0
// for an LSTM. Dropout is applied to the embeddings, between layers and to r_t.
class RnnSeq2Seq : public PairModel {
 public:
  // Throws UsageError if all embeddings are tied but the vocabularies differ in size, and Error for a bidirectional
  // encoder of odd width.
  explicit RnnSeq2Seq(const RnnSeq2SeqConfig& config);

  const RnnSeq2SeqConfig& config() const { return config_; }
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  bool is_causal() const override { return config_.encoder == EncoderKind::forward; }
  std::unique_ptr<Cache> make_cache(std::int64_t length, std::int64_t source_length) const override;

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
  // The state of the decoder between two target tokens.
  struct Memory {
    std::vector<RecurrentStates> layers;  // (R, dim)
    Variable keys;                        // of the attention, (B, S, dim)
    Variable readout;                     // r_{t−1} for input feeding, (1, R, embedding)
  };
  class DecoderCache;

  bool feeds() const { return attention_ && config_.order == AttentionOrder::current; }
  Memory begin(std::int64_t rows, const EncoderOutput& source) const;
  // Target ids (R, T) → r_t (T, R, embedding) at all times.
  Variable readouts(const Variable& ids, const EncoderOutput& source, Memory& memory) const;
  // Returns the contexts (1, R, dim) for the decoder states of R rows. Appends the attention weights to `weights` if it
  // is given.
  Variable attend(const Variable& states, const Variable& keys, const EncoderOutput& source,
                  std::vector<Tensor>* weights) const;
  // Returns the states (T, R, dim) of the last layer for the input (T, R, gates) of the first layer, and updates the
  // memory.
  Variable run_layers(const Variable& input, Memory& memory) const;

  RnnSeq2SeqConfig config_;
  Dropout dropout_;
  RecurrentEncoder encoder_;
  std::vector<std::unique_ptr<Linear>> bridges_;   // one for each layer, for a bidirectional encoder only
  std::unique_ptr<RecurrentAttention> attention_;  // null: no attention
  std::vector<std::unique_ptr<RecurrentLayer>> layers_;
  Linear readout_;
};

}  // namespace tapeformer
