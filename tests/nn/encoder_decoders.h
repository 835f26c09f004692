// Encoder-decoders of both families, and what their tests share.
#pragma once

#include "nn/models/rnn_seq2seq.h"
#include "tests/nn/transformer_support.h"

namespace tapeformer {

inline constexpr std::int64_t kSourceLengths[] = {9, 4, 1, 6}, kTargetLengths[] = {3, 8, 5, 1};  // 17 targets

inline RnnSeq2SeqConfig small_rnn_seq2seq(AttentionScore score, AttentionOrder order, DType dtype = DType::f64) {
  return {.source_vocab = 17,
          .target_vocab = 17,
          .stack = {.cell = CellKind::gru, .input_dim = 6, .dim = 8, .dtype = dtype},
          .score = score,
          .order = order};
}

// Returns every score in both orders, and among them every cell, direction, depth and way of tying.
inline std::vector<RnnSeq2SeqConfig> rnn_seq2seq_architectures(DType dtype = DType::f64) {
  std::vector<RnnSeq2SeqConfig> configs;
  for (const AttentionOrder order : {AttentionOrder::previous, AttentionOrder::current}) {
    for (const AttentionScore score :
         {AttentionScore::none, AttentionScore::dot, AttentionScore::bilinear, AttentionScore::additive}) {
      const std::size_t i = configs.size();
      RnnSeq2SeqConfig config = small_rnn_seq2seq(score, order, dtype);
      config.stack.cell = i % 3 == 0 ? CellKind::gru : i % 3 == 1 ? CellKind::lstm : CellKind::tanh;
      config.stack.layers = 1 + static_cast<std::int64_t>(i / 2 % 2);
      const bool forward = i / 2 % 3 == 0 || score == AttentionScore::none;
      config.encoder = forward ? EncoderKind::forward : EncoderKind::bidirectional;
      config.tied = i % 3 == 0 ? TiedEmbeddings::all : i % 3 == 1 ? TiedEmbeddings::output : TiedEmbeddings::none;
      if (config.tied != TiedEmbeddings::all) config.source_vocab = 13;
      configs.push_back(config);
    }
  }
  return configs;
}

inline std::string name_of(const RnnSeq2SeqConfig& config) {
  return str_cat(word_of(config.score), ", ", word_of(config.order), ", ", word_of(config.stack.cell), ", ",
                 config.stack.layers, " layers, ", word_of(config.encoder), ", tied ", word_of(config.tied));
}

// Calls body(model) with random weights for every architecture of both families.
template <class Body>
void for_each_encoder_decoder(const Body& body) {
  const auto with = [&](const auto& model) {
    CAPTURE(name_of(model.config()));
    randomize(model);
    body(model);
  };
  for (const TransformerConfig& config : transformer_architectures()) with(Transformer(config));
  for (const RnnSeq2SeqConfig& config : rnn_seq2seq_architectures()) with(RnnSeq2Seq(config));
}

// Returns a copy in which the id at (row, position) is another.
inline Tensor with_changed_id(const Tensor& ids, std::int64_t row, std::int64_t position, std::int64_t vocab) {
  const Tensor copy = ids.clone();
  std::int32_t& id = copy.slice(0, row, row + 1).slice(1, position, position + 1).data<std::int32_t>()[0];
  id = static_cast<std::int32_t>((id + 1) % vocab);
  return copy;
}

// Returns the positions [begin, end) of one row of x (B, T, n).
inline Tensor part(const Tensor& x, std::int64_t row, std::int64_t begin, std::int64_t end) {
  return x.slice(0, row, row + 1).slice(1, begin, end).contiguous();
}

}  // namespace tapeformer
