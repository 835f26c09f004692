// What the tests of the encoder-decoders share.
#pragma once

#include "nn/models/transformer.h"
#include "tests/nn/support.h"

namespace tapeformer {

// Runs in microseconds, with every part of a large one.
inline TransformerConfig small_transformer(DType dtype = DType::f64) {
  TransformerConfig config;
  config.source_vocab = config.target_vocab = 17;
  config.context = 12, config.layers = 2;
  config.block = {
      .dim = 16, .heads = 4, .ff_dim = 32, .norm = NormPlace::post, .activation = ActivationKind::relu, .dtype = dtype};
  return config;
}

// The paper's, and those that differ from it in every part that the code tells apart.
inline std::vector<TransformerConfig> transformer_architectures(DType dtype = DType::f64) {
  std::vector<TransformerConfig> configs(5, small_transformer(dtype));
  configs[1].block.norm = NormPlace::pre, configs[1].block.activation = ActivationKind::gelu;
  configs[1].position = LearnedPositions{};
  configs[1].tied = TiedEmbeddings::none, configs[1].source_vocab = 13;
  configs[2].block.bias = false;
  configs[2].tied = TiedEmbeddings::output, configs[2].target_vocab = 19;
  configs[3].block = modern(configs[3].block);
  configs[3].position = Rotary{.pairs = RotaryPairs::interleaved};
  configs[4].position = NoPositions{}, configs[4].embedding_scale = 2;
  configs[4].block.attention_scale = 0.7, configs[4].block.bias.attention = configs[4].block.bias.attention_out = false;
  configs[4].block.final_norm = true, configs[4].block.feed_forward = FeedForwardKind::none;
  return configs;
}

inline std::string name_of(const TransformerConfig& config) {
  if (config.block.norm_kind == NormKind::rms) return "modern";
  if (config.block.feed_forward == FeedForwardKind::none) return "switched";
  return str_cat(config.block.norm == NormPlace::pre ? "pre" : "post", "-norm, ",
                 config.block.bias.attention ? "biases" : "no biases");
}

// A sentence and its translation: targets[t] follows inputs[0 … t].
struct SentencePair {
  std::vector<std::int32_t> source, inputs, targets;
};

struct PairBatch {
  SourceBatch source;      // (B, S), (B)
  Tensor inputs, targets;  // (B, T)
  double target_count = 0;
};

// Pairs of random ids, of the given lengths in order. Of the configuration only the vocabularies matter.
template <class Config>
std::vector<SentencePair> random_pairs(const Config& config, std::span<const std::int64_t> source_lengths,
                                       std::span<const std::int64_t> target_lengths, std::uint64_t seed = 1) {
  std::vector<SentencePair> pairs;
  for (std::size_t i = 0; i < source_lengths.size(); ++i) {
    const std::uint64_t own = seed + 1000 * i;
    pairs.push_back({random_ids(source_lengths[i], config.source_vocab, own),
                     random_ids(target_lengths[i], config.target_vocab, own + 1),
                     random_ids(target_lengths[i], config.target_vocab, own + 2)});
  }
  return pairs;
}

// With padding to S and T: random ids, targets of −1.
template <class Config>
PairBatch batch_of(const Config& config, std::span<const SentencePair> pairs, std::int64_t source_size,
                   std::int64_t target_size, std::uint64_t padding_seed = 1) {
  const auto rows = static_cast<std::int64_t>(pairs.size());
  std::vector<std::int32_t> source = random_ids(rows * source_size, config.source_vocab, padding_seed), lengths;
  std::vector<std::int32_t> inputs = random_ids(rows * target_size, config.target_vocab, padding_seed + 1);
  std::vector<std::int32_t> targets(rows * target_size, -1);
  PairBatch batch;
  for (std::int64_t row = 0; row < rows; ++row) {
    const SentencePair& pair = pairs[row];
    std::ranges::copy(pair.source, source.begin() + row * source_size);
    std::ranges::copy(pair.inputs, inputs.begin() + row * target_size);
    std::ranges::copy(pair.targets, targets.begin() + row * target_size);
    lengths.push_back(static_cast<std::int32_t>(pair.source.size()));
    batch.target_count += static_cast<double>(pair.targets.size());
  }
  batch.source = {ids_tensor(source, {rows, source_size}), ids_tensor(lengths, {rows})};
  batch.inputs = ids_tensor(inputs, {rows, target_size});
  batch.targets = ids_tensor(targets, {rows, target_size});
  return batch;
}

// One without padding, B·T and B·S ids.
template <class Config>
PairBatch full_batch(const Config& config, std::int64_t rows, std::int64_t source_size, std::int64_t target_size) {
  const std::vector<std::int64_t> source(rows, source_size), target(rows, target_size);
  return batch_of(config, random_pairs(config, source, target), source_size, target_size);
}

// Logits of every position, (B, T, vocab).
inline Tensor logits_of(const EncoderDecoder& model, const SourceBatch& source, const Tensor& inputs) {
  Tape tape(no_grad);
  const EncoderOutput encoded = model.encode(tape, source);
  return model.logits(model.decode(Variable::constant(tape, inputs), encoded)).value();
}

inline double add_gradients(const EncoderDecoder& model, const PairBatch& batch,
                            const CrossEntropyOptions& loss_options = {}, const TapeOptions& tape_options = {}) {
  Tape tape(tape_options);
  const Variable loss = model.loss(batch.source, Variable::constant(tape, batch.inputs),
                                   Variable::constant(tape, batch.targets), loss_options);
  tape.backward(loss);
  return loss.value().item();
}

}  // namespace tapeformer
