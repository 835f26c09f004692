#include "nn/models/cnn_lstm.h"

#include <algorithm>

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "core/ignored_target.h"
#include "nn/models/shared/recurrent_keys.h"
#include "nn/models/shared/tied_embeddings.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kMostConvolutions = 12;

// Returns the width of a cell in pixels after the convolutions. Throws UsageError if it is not a whole number.
std::int64_t cell_side(const ImageShape& image, std::int64_t convolutions) {
  const std::int64_t unit = image.cells << std::min<std::int64_t>(convolutions, kMostConvolutions);
  if (image.size % unit != 0) {
    fail_usage("model.image_size: expected a multiple of ", unit, ", since there are ", image.cells,
               " cells to a side and each of ", convolutions, " convolutions halves the image, got ", image.size);
  }
  return image.size / unit;
}

// Images (B, C, H, W) → (B, H·W, C).
Variable cells_of(const Variable& x) {
  return reshape(permute(x, {0, 2, 3, 1}), {x.size(0), x.size(2) * x.size(3), x.size(1)});
}

// Returns the penalty for doubly stochastic attention: the sum over the rows of Σ_i (1 − Σ_t α_ti)², where α_t (R, 1,
// S) are the weights of step t, and t goes over the targets (R, T) that are scored.
Variable doubly_stochastic_penalty(const std::vector<Variable>& weights, const Tensor& targets) {
  const std::int64_t rows = targets.size(0), steps = targets.size(1);
  const Tensor dense = targets.contiguous(), scored = Tensor::zeros({rows, steps, 1}, weights.front().dtype());
  dispatch_floating(scored.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < rows * steps; ++i) {
      scored.data<T>()[i] = dense.data<std::int32_t>()[i] == kIgnoredTarget ? T{0} : T{1};
    }
  });
  const Variable all = concat(weights, 1);  // (R, T, S)
  const Variable looked = sum(mul(all, Variable::constant(*all.tape(), scored)), 1);
  return sum(square(looked - 1.0));
}

}  // namespace

CnnLstm::CnnLstm(const CnnLstmConfig& config)
    : CaptionModel({.image = config.image,
                    .name = "cnn_lstm",
                    .target_vocab = config.vocab,
                    .dim = config.stack.input_dim,
                    .tied = config.tied,
                    .embedding_init = embedding_init(config.tied, config.stack.input_dim),
                    .head_init = Init::uniform_fan_in(config.stack.input_dim),
                    .head_bias = true,
                    .dtype = config.stack.dtype}),
      config_(config),
      cell_(config.channels << (config.convolutions - 1), config.stack.dim, /*with_bias=*/true, Init::xavier_uniform(),
            config.stack.dtype),
      positions_(LearnedPositions{}, config.image.cells * config.image.cells, config.stack.dim,
                 Init::uniform_fan_in(config.stack.dim), config.stack.dtype),
      initial_h_(config.stack.dim, config.stack.dim, /*with_bias=*/true, Init::xavier_uniform(), config.stack.dtype),
      initial_c_(config.stack.dim, config.stack.dim, /*with_bias=*/true, Init::xavier_uniform(), config.stack.dtype),
      decoder_({config.stack, AttentionScore::additive, AttentionOrder::previous}) {
  cell_side(config.image, config.convolutions);
  for (std::int64_t i = 0, in = kImageChannels; i < config.convolutions; ++i) {
    const std::int64_t out = config.channels << i;
    convolutions_.push_back(std::make_unique<Conv2d>(in, out, WindowOptions2d{3, 1, 1}, config.stack.dtype));
    register_module(str_cat("encoder.convolutions.", i), *convolutions_.back());
    in = out;
  }
  register_module("encoder.cell", cell_);
  register_module("encoder.position_embedding", positions_);
  register_module("target_embedding", embedding_);
  register_module("decoder.initial_h", initial_h_);
  register_module("decoder.initial_c", initial_c_);
  register_module("decoder", decoder_);
  register_module("head", head_);
}

EncoderOutput CnnLstm::read(const Variable& images, std::vector<Variable>* layers) const {
  Variable x = images;
  for (const auto& convolution : convolutions_) {
    x = max_pool2d(relu(convolution->forward(x)), {2, 2, 0});
    if (layers) layers->push_back(cells_of(x));
  }
  const std::int64_t side = cell_side(config_.image, config_.convolutions);
  if (side > 1) x = max_pool2d(x, {side, side, 0});
  const Variable cells = positions_.add_to(cell_.forward(cells_of(x)), {}), average = mean(cells, 1);
  if (layers) layers->push_back(cells);
  return {cells,
          equal_lengths(cells.size(0), cells.size(1)),
          {tanh(initial_h_.forward(average)), tanh(initial_c_.forward(average))}};
}

Variable CnnLstm::readouts(const Variable& ids, const EncoderOutput& source, Cache* cache,
                           std::vector<Variable>* weights) const {
  check(ids.value().rank() == 2 && ids.size(1) > 0, "cnn_lstm: expected target ids (R, T), got ", ids.sizes());
  return call([&] { return decoder_.forward(embedding_.forward(transpose(ids, 0, 1)), source, cache, weights); });
}

Variable CnnLstm::decode(const Variable& ids, const EncoderOutput& source, Cache* cache) const {
  return transpose(readouts(ids, source, cache, nullptr), 0, 1);
}

Variable CnnLstm::loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                       const CrossEntropyOptions& options) const {
  Tape& tape = *inputs.tape();
  const bool penalized = config_.attention_penalty > 0 && tape.options().training;
  std::vector<Variable> weights;
  const Variable features = readouts(inputs, encode(tape, source), nullptr, penalized ? &weights : nullptr);
  CrossEntropyOptions likelihood = options;
  likelihood.deferred = options.deferred && !penalized;  // the sum below needs the value now
  const Variable loss = head_.loss(features, targets.value().transpose(0, 1), likelihood);
  if (!penalized) return loss;
  double count = options.normalizer;
  if (count == 0) {
    for (const std::int32_t target : targets.value().to_vector<std::int32_t>()) count += target != kIgnoredTarget;
  }
  return loss +
         scale(doubly_stochastic_penalty(weights, targets.value()), config_.attention_penalty / std::max(count, 1.0));
}

namespace {

std::vector<Key> cnn_lstm_keys() {
  const KeyRange size = between(1, kMaxSize);
  Key dropout{"dropout", 0.0, "probability of dropping an element of embeddings and of the output", fraction()};
  dropout.may_change = true;
  return {
      image_size_key(),
      {"cells", std::int64_t{4}, "cells to a side of the image, at which the decoder looks", size},
      {"convolutions", std::int64_t{2}, "convolutions, each of which halves the image", between(1, kMostConvolutions)},
      {"channels", std::int64_t{32}, "channels of the first convolution; each of the next has twice as many", size},
      {"dim", std::int64_t{128}, "width of the LSTM's state, and of a cell's vector", size},
      embedding_dim_key(),
      tied_key(TiedEmbeddings::none),
      std::move(dropout),
      {"forget_bias", 1.0, "added to the initial bias of the LSTM's forget gate"},
      {"attention_penalty", 0.0,
       "weight of the squares by which the attention to each cell, summed over the words, differs from 1",
       at_least(0)}};
}

void resolve_cnn_lstm(KeyValues& options, bool) {
  if (options.integer("embedding_dim") == 0) options.set("embedding_dim", options.integer("dim"));
  resolve_tied(options);
  cell_side({options.integer("image_size"), options.integer("cells")}, options.integer("convolutions"));
}

std::unique_ptr<EncoderDecoder> make_cnn_lstm(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<CnnLstm>(CnnLstmConfig{.vocab = vocabulary.target,
                                                 .image = {options.integer("image_size"), options.integer("cells")},
                                                 .convolutions = options.integer("convolutions"),
                                                 .channels = options.integer("channels"),
                                                 .stack = {.cell = CellKind::lstm,
                                                           .input_dim = options.integer("embedding_dim"),
                                                           .dim = options.integer("dim"),
                                                           .dropout = options.number("dropout"),
                                                           .forget_bias = options.number("forget_bias")},
                                                 .tied = ties_embeddings(options),
                                                 .attention_penalty = options.number("attention_penalty")});
}

// A product costs two operations per weight, and a convolution's weights are used once for each of its pixels. The
// image is read once for the `length` tokens of its caption. Attention to S cells costs 4·S·dim for each token.
ForwardFlops cnn_lstm_flops(const KeyValues& options, const Module& model, const ModelVocabulary& vocabulary,
                            std::int64_t length) {
  const std::int64_t dim = options.integer("dim"), cells = options.integer("cells");
  double image = 2 * static_cast<double>(model.parameter_count("encoder.cell.") * cells * cells);
  for (std::int64_t i = 0, side = options.integer("image_size"); i < options.integer("convolutions"); ++i, side /= 2) {
    const std::int64_t weights = model.parameter_count(str_cat("encoder.convolutions.", i, "."));
    image += 2 * static_cast<double>(weights * side * side);
  }
  const std::int64_t words = model.parameter_count("decoder.") + vocabulary.target * options.integer("embedding_dim");
  return {.other = image / static_cast<double>(std::max<std::int64_t>(length, 1)) +
                   static_cast<double>(2 * words + 4 * cells * cells * dim)};
}

}  // namespace

ModelFamily cnn_lstm_family() {
  return {.name = "cnn_lstm",
          .help = "captions of images: convolutions, and an LSTM with attention (Xu et al. 2015)",
          .task = "captioning",
          .keys = cnn_lstm_keys(),
          .resolve = resolve_cnn_lstm,
          .make = ImageDecoderMaker{make_cnn_lstm},
          .parts = {{"encoder", "encoder", {"encoder."}},
                    {"embeddings", "embeddings", {"target_embedding."}},
                    {"decoder", "decoder", {"decoder."}},
                    {"head", "head", {"head."}}},
          .flops = cnn_lstm_flops};
}

}  // namespace tapeformer
