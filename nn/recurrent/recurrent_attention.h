// The attention of a recurrent decoder to the states of its encoder.
#pragma once

#include "autograd/ops/attention/attention.h"
#include "core/keys.h"
#include "nn/interfaces/encoder_decoder.h"
#include "nn/layers/layers.h"

namespace tapeformer {

// The score of a decoder state s and an encoder state h.
enum class AttentionScore {
  none,      // no attention
  dot,       // sᵀ h
  bilinear,  // sᵀ W h                      ("general" in Luong et al. 2015)
  additive,  // w₂ᵀ tanh(W₁ [s; h])         (Bahdanau et al. 2015)
};

template <>
struct Words<AttentionScore> {
  static constexpr std::pair<AttentionScore, std::string_view> list[] = {{AttentionScore::none, "none"},
                                                                         {AttentionScore::dot, "dot"},
                                                                         {AttentionScore::bilinear, "bilinear"},
                                                                         {AttentionScore::additive, "additive"}};
};

// c = Σ_i α_i h_i with α = softmax_i score(s, h_i), where all states have the width `dim`. W₁ consists of a matrix for
// s, query.weight, and a matrix for h, key.weight.
class RecurrentAttention : public Module {
 public:
  // Throws Error for the score none.
  RecurrentAttention(AttentionScore score, std::int64_t dim, DType dtype);

  // Returns the part of the score that depends only on the encoder's states (B, S, dim): (B, S, dim).
  Variable keys(const Variable& hidden) const;
  // Decoder states (B, Q, dim), their keys, and the encoder's states → the contexts c (B, Q, dim). If `weights` is
  // given, it becomes α (B, Q, S), through which gradients flow with the score additive only.
  Variable forward(const Variable& query, const Variable& keys, const EncoderOutput& encoded,
                   Variable* weights = nullptr) const;

 private:
  Variable run(const Variable& query, const Variable& keys, const EncoderOutput& encoded, Variable* weights) const;

  AttentionScore score_;
  Variable query_weight_, key_weight_, score_weight_;
};

}  // namespace tapeformer
