// The configuration that all blocks of a model share.
#pragma once

#include <optional>
#include <variant>

#include "autograd/kernels/attention/rotary_pairs.h"
#include "autograd/kernels/elementwise/activation_kind.h"
#include "autograd/tensor/dtype.h"
#include "core/keys.h"
#include "nn/module/init.h"

namespace tapeformer {

enum class NormPlace { pre, post };  // x + Sub(LN(x)) (GPT-2), or LN(x + Sub(x)) (Vaswani et al. 2017)
// LayerNorm (Ba et al. 2016), RMSNorm (Zhang & Sennrich 2019), batch norm (Ioffe & Szegedy 2015), or no norm at all
enum class NormKind { layer, rms, batch, none };
enum class FeedForwardKind { mlp, none };      // none: a block has attention only
enum class AttentionKind { softmax, linear };  // Vaswani et al. 2017; Katharopoulos et al. 2020
// The kinds of positions by their words in a configuration; PositionConfig says what each kind needs.
enum class PositionKind { learned, sinusoidal, rotary, none };
// How rotary positions are stretched for texts longer than those of pre-training (RotaryScaling).
enum class PositionScaling { none, linear, llama3 };

template <>
struct Words<NormPlace> {
  static constexpr std::pair<NormPlace, std::string_view> list[] = {{NormPlace::pre, "pre"}, {NormPlace::post, "post"}};
};
template <>
struct Words<NormKind> {
  static constexpr std::pair<NormKind, std::string_view> list[] = {
      {NormKind::layer, "layer"}, {NormKind::rms, "rms"}, {NormKind::batch, "batch"}, {NormKind::none, "none"}};
};
template <>
struct Words<FeedForwardKind> {
  static constexpr std::pair<FeedForwardKind, std::string_view> list[] = {{FeedForwardKind::mlp, "mlp"},
                                                                          {FeedForwardKind::none, "none"}};
};
template <>
struct Words<AttentionKind> {
  static constexpr std::pair<AttentionKind, std::string_view> list[] = {{AttentionKind::softmax, "softmax"},
                                                                        {AttentionKind::linear, "linear"}};
};
template <>
struct Words<PositionKind> {
  static constexpr std::pair<PositionKind, std::string_view> list[] = {{PositionKind::learned, "learned"},
                                                                       {PositionKind::sinusoidal, "sinusoidal"},
                                                                       {PositionKind::rotary, "rotary"},
                                                                       {PositionKind::none, "none"}};
};
template <>
struct Words<PositionScaling> {
  static constexpr std::pair<PositionScaling, std::string_view> list[] = {
      {PositionScaling::none, "none"}, {PositionScaling::linear, "linear"}, {PositionScaling::llama3, "llama3"}};
};
template <>
struct Words<RotaryPairs> {
  static constexpr std::pair<RotaryPairs, std::string_view> list[] = {{RotaryPairs::halves, "halves"},
                                                                      {RotaryPairs::interleaved, "interleaved"}};
};
template <>
struct Words<ActivationKind> {
  static constexpr std::pair<ActivationKind, std::string_view> list[] = {
      {ActivationKind::gelu, "gelu"},   {ActivationKind::gelu_tanh, "gelu_tanh"}, {ActivationKind::relu, "relu"},
      {ActivationKind::relu2, "relu2"}, {ActivationKind::swiglu, "swiglu"},       {ActivationKind::geglu, "geglu"}};
};

// A learned vector for each position is added to the token embedding.
struct LearnedPositions {};
// Sines and cosines are added to the token embedding: sinusoidal_positions().
struct SinusoidalPositions {
  double base = 10000;
};
// Linear: each angle is divided by `factor` (Chen et al. 2023). Llama 3.1: the angle of a pair that turns fewer than
// `low_freq` times in `original_context` tokens is divided by `factor`, that of a pair that turns more than `high_freq`
// times stays, and in between the angle is interpolated linearly in the number of turns.
struct RotaryScaling {
  PositionScaling kind = PositionScaling::none;
  double factor = 1, low_freq = 1, high_freq = 4;
  std::int64_t original_context = 8192;
};
// Self-attention rotates queries and keys (Su et al. 2021). From one position to the next, pair i of the elements of a
// head of width d is rotated by the further angle base^(−2i/d), which may be scaled.
struct Rotary {
  double base = 10000;
  RotaryPairs pairs = RotaryPairs::halves;
  RotaryScaling scaling = {};
};
// Nothing tells the model where a token is. Only a causal mask still orders the tokens.
struct NoPositions {};
// How a model knows the order of its tokens.
using PositionConfig = std::variant<LearnedPositions, SinusoidalPositions, Rotary, NoPositions>;

// Which layers have biases.
struct Biases {
  Biases(bool all = true) : attention(all), attention_out(all), feed_forward(all), norms(all) {}
  bool attention;      // the layers of queries, keys and values
  bool attention_out;  // the output layer of attention
  bool feed_forward;   // both layers
  bool norms;          // layer norms and batch norms; an RMS norm never has a bias
};

struct BlockConfig {
  std::int64_t dim = 128;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 0;     // heads of keys and values, which groups of query heads share; 0: as many as heads
  std::int64_t head_dim = 0;     // width of a head's queries and keys; 0: dim / heads
  std::int64_t value_dim = 0;    // width of a head's values; 0: head_dim
  std::int64_t ff_dim = 512;     // width of the feed-forward layer after its activation
  double dropout = 0;            // on embeddings and on the output of each sublayer
  double attention_dropout = 0;  // on attention weights
  // Causal self-attention: a token sees the last `attention_window` tokens up to itself; 0: all of them.
  std::int64_t attention_window = 0;
  AttentionKind attention_kind = AttentionKind::softmax;  // of self-attention; linear: causal, without dropout
  NormPlace norm = NormPlace::pre;
  NormKind norm_kind = NormKind::layer;
  std::optional<bool> final_norm = {};  // whether a norm follows the last block; empty: if norm is pre
  FeedForwardKind feed_forward = FeedForwardKind::mlp;
  ActivationKind activation = ActivationKind::gelu;
  double attention_scale = 0;   // the factor of the scores q·k before the softmax; 0: 1/√head_dim
  bool residual = true;         // whether each sublayer's input is added to its output
  bool qk_norm = false;         // an RMS norm of each head's queries and keys, with learned weights
  bool value_residual = false;  // self-attention mixes the first layer's values into its own
  Biases bias = true;
  double norm_eps = 1e-5;
  Init init = Init::normal(0.02);           // for matrices
  Init residual_init = Init::normal(0.02);  // for matrices whose output is added to the residual stream
  DType dtype = DType::f32;
};

}  // namespace tapeformer
