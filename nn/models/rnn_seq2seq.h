// The recurrent encoder-decoder, with attention (Bahdanau et al. 2015, Luong et al. 2015) or without (Cho et al. 2014).
#pragma once

#include <memory>
#include <vector>

#include "nn/layers/lm_head.h"
#include "nn/models/pair_embeddings.h"
#include "nn/models/registry.h"
#include "nn/recurrent/recurrent_attention.h"
#include "nn/recurrent/recurrent_encoder.h"

namespace tapeformer {

// Which state of the decoder asks for the context of target token t.
enum class AttentionOrder {
  previous,  // s_{t−1}: the context helps to make s_t    (Bahdanau et al. 2015)
  current,   // s_t: the context helps to predict only, and reaches s_{t+1} by input feeding    (Luong et al. 2015)
};
template <>
struct Words<AttentionOrder> {
  static constexpr std::pair<AttentionOrder, std::string_view> list[] = {{AttentionOrder::previous, "previous"},
                                                                         {AttentionOrder::current, "current"}};
};

struct RnnSeq2SeqConfig {
  std::int64_t source_vocab = 0, target_vocab = 0;
  RecurrentConfig stack;  // of the encoder and of the decoder; input_dim is the width of the embeddings
  AttentionScore score = AttentionScore::additive;
  AttentionOrder order = AttentionOrder::previous;
  EncoderKind encoder = EncoderKind::bidirectional;
  TiedEmbeddings tied = TiedEmbeddings::all;
};

// The row of the registry.
ModelFamily rnn_seq2seq_family();

// With y_t the embedding of target token t, s_t the state of the decoder's last layer and h_i the encoder's states,
//
//   previous   c_t = attention(s_{t−1}),  s_t = f(s_{t−1}, [y_{t−1}; c_t]),  r_t = tanh(W [s_t; y_{t−1}; c_t] + b)
//   current    s_t = f(s_{t−1}, [y_{t−1}; r_{t−1}]),  c_t = attention(s_t),  r_t = tanh(W [s_t; c_t] + b),  r_0 = 0
//
// and logits_t = E r_t + b, where r_t is as wide as the embeddings, so that E can be one of them. Bahdanau's own output
// layer takes a maximum of pairs in place of tanh. Without attention c_t is absent, and nothing is fed. A layer of the
// decoder begins from the last state of the encoder's; behind a bidirectional one from s_0 = tanh(W ←h_1), an LSTM with
// c_0 = s_0. Dropout stands on the embeddings, between layers and on r_t.
class RnnSeq2Seq : public SequenceToSequence {
 public:
  // Throws UsageError when all embeddings are to be one but the vocabularies differ in size, and Error for a
  // bidirectional encoder of an odd width.
  explicit RnnSeq2Seq(const RnnSeq2SeqConfig& config);

  const RnnSeq2SeqConfig& config() const { return config_; }
  std::int64_t target_vocab() const override { return config_.target_vocab; }
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  std::unique_ptr<DecoderState> make_state(std::int64_t length, std::int64_t source_length) const override;

  EncoderOutput encode(Tape& tape, const SourceBatch& source) const override;
  // (B, S, embedding), and the states (B, S, dim) of every layer of the encoder.
  std::vector<Variable> source_hidden_states(Tape& tape, const SourceBatch& source) const override;
  // The features are r_t (R, T, embedding).
  Variable decode(const Variable& ids, const EncoderOutput& source, DecoderState* state = nullptr) const override;
  Variable logits(const Variable& features) const override;
  // Never holds all logits.
  Variable loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                const CrossEntropyOptions& options) const override;

 private:
  // The embeddings of the sources (S, B, embedding), with dropout.
  Variable embed_source(Tape& tape, const SourceBatch& source) const;
  // What the decoder knows between two target tokens.
  struct Memory {
    std::vector<RecurrentStates> layers;  // (R, dim)
    Variable keys;                        // of the attention, (B, S, dim)
    Variable readout;                     // r_{t−1} where it is fed, (1, R, embedding)
  };
  class State;

  bool feeds() const { return attention_ && config_.order == AttentionOrder::current; }
  Memory begin(std::int64_t rows, const EncoderOutput& source) const;
  // Target ids (R, T) → r_t (T, R, embedding) at all times.
  Variable readouts(const Variable& ids, const EncoderOutput& source, Memory& memory) const;
  // Contexts (1, R, dim) of decoder states of as many elements. Appends the weights, if they are wanted.
  Variable attend(const Variable& states, const Variable& keys, const EncoderOutput& source,
                  std::vector<Tensor>* weights) const;
  // The states (T, R, dim) of the last layer, for the first one's input (T, R, gates); the memory goes on.
  Variable run_layers(const Variable& input, Memory& memory) const;

  RnnSeq2SeqConfig config_;
  PairEmbeddings embeddings_;
  Dropout dropout_;
  RecurrentEncoder encoder_;
  std::vector<std::unique_ptr<Linear>> bridges_;   // one for each layer, behind a bidirectional encoder
  std::unique_ptr<RecurrentAttention> attention_;  // null: none
  std::vector<std::unique_ptr<RecurrentLayer>> layers_;
  Linear readout_;
  LMHead head_;
};

}  // namespace tapeformer
