// The recurrent decoder, which attends to what an encoder has read (Bahdanau et al. 2015, Luong et al. 2015).
#pragma once

#include <memory>
#include <vector>

#include "nn/recurrent/recurrent.h"
#include "nn/recurrent/recurrent_attention.h"

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

struct RecurrentDecoderConfig {
  RecurrentConfig stack;  // input_dim is the width of the embeddings
  AttentionScore score = AttentionScore::additive;
  AttentionOrder order = AttentionOrder::previous;
};

// y_t is the embedding of target token t, s_t the state of the last layer, h_i the encoder's states, which are as wide,
// f the recurrent layers, and attention(s) = Σ_i α_i h_i (RecurrentAttention):
//
//   previous   c_t = attention(s_{t−1}),  s_t = f(s_{t−1}, [y_{t−1}; c_t]),  r_t = tanh(W [s_t; y_{t−1}; c_t] + b)
//   current    s_t = f(s_{t−1}, [y_{t−1}; r_{t−1}]),  c_t = attention(s_t),  r_t = tanh(W [s_t; c_t] + b),  r_0 = 0
//
// r_t is as wide as the embeddings. Bahdanau et al. use maxout instead of tanh here. Without attention there is no c_t
// and no input feeding. Dropout is applied to the embeddings, between layers and to r_t.
class RecurrentDecoder : public Module {
 public:
  explicit RecurrentDecoder(const RecurrentDecoderConfig& config);

  // Returns a cache for forward() that has read nothing yet.
  static std::unique_ptr<Cache> make_cache();
  // Embeddings y (T, R, E) of target tokens → r_t (T, R, E). R is the B of `source` or a multiple of it, as in
  // EncoderDecoder::decode(); source.initial has the initial states of the layers: h of each layer, or for an LSTM h
  // and then c of each. A cache is continued; it needs a tape that does not record. `weights` receives the attention
  // weights (B, R/B, S) of each step; gradients flow through them with the score additive only.
  Variable forward(const Variable& embeddings, const EncoderOutput& source, Cache* cache = nullptr,
                   std::vector<Variable>* weights = nullptr) const;

 private:
  // The state between two target tokens.
  struct Memory {
    std::vector<RecurrentStates> layers;  // (R, dim)
    Variable keys;                        // of the attention, (B, S, dim)
    Variable readout;                     // r_{t−1} for input feeding, (1, R, E)
  };
  class DecoderCache;

  bool feeds() const { return attention_ && config_.order == AttentionOrder::current; }
  Memory begin(std::int64_t rows, const EncoderOutput& source) const;
  Variable readouts(const Variable& x, const EncoderOutput& source, Memory& memory,
                    std::vector<Variable>* weights) const;
  // Returns the contexts (1, R, dim) for the decoder states of R rows, and appends the attention weights to `weights`
  // if it is given.
  Variable attend(const Variable& states, const Variable& keys, const EncoderOutput& source,
                  std::vector<Variable>* weights) const;
  // Returns the states (T, R, dim) of the last layer for the input (T, R, gates) of the first layer, and updates the
  // memory.
  Variable run_layers(const Variable& input, Memory& memory) const;

  RecurrentDecoderConfig config_;
  Dropout dropout_;
  std::unique_ptr<RecurrentAttention> attention_;  // null: no attention
  std::vector<std::unique_ptr<RecurrentLayer>> layers_;
  Linear readout_;
};

}  // namespace tapeformer
