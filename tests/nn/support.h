// What the tests of modules share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape/tape.h"
#include "nn/models/gpt.h"

namespace tapeformer {

// A GPT that runs in microseconds, with every part of a large one.
inline GptConfig small_gpt(DType dtype = DType::f64) {
  GptConfig config;
  config.vocab = 17, config.context = 12, config.layers = 2;
  config.block = {.dim = 16, .heads = 4, .ff_dim = 32, .dtype = dtype};
  return config;
}

// The blocks of today's models, which go with rotary positions: RMS norms, grouped queries, QK-norm, SwiGLU, no biases.
// The heads' widths are no share of dim.
inline BlockConfig modern(BlockConfig block) {
  block.norm = NormPlace::pre, block.norm_kind = NormKind::rms, block.bias = false;
  block.activation = ActivationKind::swiglu;
  block.kv_heads = block.heads / 2, block.qk_norm = true;
  block.head_dim = 6, block.value_dim = 5;
  return block;
}
inline GptConfig modern_gpt(DType dtype = DType::f64) {
  GptConfig config = small_gpt(dtype);
  config.block = modern(config.block);
  config.position = Rotary{};
  return config;
}

// A GPT with the other switches of the blocks and the head: ReLU², a value residual, a window, bounded logits, scales,
// no biases in attention, and no final norm.
inline GptConfig switched_gpt(DType dtype = DType::f64) {
  GptConfig config = small_gpt(dtype);
  config.layers = 3;  // the last layer reads the first one's values, not those of the layer before
  config.block.activation = ActivationKind::relu2, config.block.value_residual = true;
  config.block.kv_heads = 2, config.block.attention_window = 5;
  config.block.attention_scale = 0.7, config.embedding_scale = 1.3;
  config.block.bias.attention = config.block.bias.attention_out = false, config.block.final_norm = false;
  config.logit_softcap = 3;
  return config;
}

// A GPT of attention alone: no positions, norms, residual connections and feed-forward layers.
inline GptConfig bare_gpt(DType dtype = DType::f64) {
  GptConfig config = small_gpt(dtype);
  config.position = NoPositions{};
  config.block.norm_kind = NormKind::none, config.block.feed_forward = FeedForwardKind::none;
  config.block.residual = false;
  return config;
}

// A GPT with linear attention, grouped queries and QK-norm.
inline GptConfig linear_gpt(DType dtype = DType::f64) {
  GptConfig config = small_gpt(dtype);
  config.block.attention_kind = AttentionKind::linear;
  config.block.kv_heads = 2, config.block.qk_norm = true, config.block.value_dim = 5;
  return config;
}

// The architectures that the code tells apart: pre- and post-norm, each with learned and with sinusoidal positions, a
// modern one, one with the other switches, attention alone, and one with linear attention.
inline std::vector<GptConfig> architectures(DType dtype = DType::f64) {
  std::vector<GptConfig> configs;
  for (NormPlace norm : {NormPlace::pre, NormPlace::post}) {
    for (const bool learned : {true, false}) {
      GptConfig config = small_gpt(dtype);
      config.block.norm = norm;
      if (!learned) config.position = SinusoidalPositions{};
      config.tie_embeddings = learned;
      config.block.bias = norm == NormPlace::pre;
      configs.push_back(config);
    }
  }
  configs.push_back(modern_gpt(dtype));
  configs.push_back(switched_gpt(dtype));
  configs.push_back(bare_gpt(dtype));
  configs.push_back(linear_gpt(dtype));
  return configs;
}

inline std::string name_of(const GptConfig& config) {
  if (config.block.norm_kind == NormKind::rms) return "modern";
  if (config.block.value_residual) return "switched";
  if (config.block.norm_kind == NormKind::none) return "bare";
  if (config.block.attention_kind == AttentionKind::linear) return "linear";
  return str_cat(config.block.norm == NormPlace::pre ? "pre" : "post", "-norm, ",
                 std::holds_alternative<LearnedPositions>(config.position) ? "learned" : "sinusoidal", " positions");
}

// Large random values for every parameter, biases and norms too (the gains around one), so that nothing is zero or
// small by symmetry.
inline void randomize(const Module& model, std::uint64_t seed = 1) {
  std::uint64_t stream = 0;
  for (const NamedParameter& parameter : model.named_parameters()) {
    const Tensor value = parameter.variable.value();
    initialize(value, Init::normal(0.3), RandomKey{.seed = seed, .stream = stream++});
    if (parameter.init.kind == Init::Kind::constant) {  // zero, or the one of gains
      value.add_from(Tensor::full(value.sizes(), value.dtype(), parameter.init.value));
    }
  }
}

inline std::vector<std::int32_t> random_ids(std::int64_t count, std::int64_t vocab, std::uint64_t seed) {
  RandomStream random(RandomKey{.seed = seed});
  std::vector<std::int32_t> ids(count);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.below(vocab));
  return ids;
}

inline Tensor ids_tensor(std::span<const std::int32_t> ids, const Dims& sizes) { return Tensor::from(ids, sizes); }

// Logits of every position, (B, T, vocab).
inline Tensor logits_of(const CausalModel& model, const Tensor& ids, const TapeOptions& options = no_grad) {
  Tape tape(options);
  return model.logits(model.forward(Variable::constant(tape, ids))).value();
}

// Adds the loss's gradients to the model's; returns the loss.
inline double add_gradients(const CausalModel& model, const Tensor& ids, const Tensor& targets,
                            const CrossEntropyOptions& loss_options = {}, const TapeOptions& tape_options = {}) {
  Tape tape(tape_options);
  const Variable loss = model.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), loss_options);
  tape.backward(loss);
  return loss.value().item();
}

using Gradients = std::map<std::string, Tensor>;

// Copies; a gradient that nothing was written to is left out.
inline Gradients gradients_of(const Module& model) {
  Gradients gradients;
  for (const NamedParameter& parameter : model.named_parameters()) {
    if (const Tensor gradient = parameter.variable.grad(); gradient.defined()) {
      gradients.emplace(parameter.name, gradient.clone());
    }
  }
  return gradients;
}

inline std::vector<double> values_of(const Tensor& tensor) { return tensor.to(DType::f64).to_vector<double>(); }

// max |a − b| / max |b|; infinite when the sizes differ or something is not a number.
inline double distance(const Tensor& a, const Tensor& b) {
  if (!(a.sizes() == b.sizes())) return INFINITY;
  const std::vector<double> left = values_of(a), right = values_of(b);
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!std::isfinite(left[i]) || !std::isfinite(right[i])) return INFINITY;
    difference = std::max(difference, std::abs(left[i] - right[i]));
    largest = std::max(largest, std::abs(right[i]));
  }
  return difference == 0 ? 0 : difference / largest;
}

inline double distance(const Gradients& a, const Gradients& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (const auto& [name, gradient] : a) {
    largest = std::max(largest, b.contains(name) ? distance(gradient, b.at(name)) : INFINITY);
  }
  return largest;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() && values_of(a) == values_of(b);
}

// Compares an f64 model's gradients with central differences of loss(), at three elements of each parameter: the one
// with the largest gradient, which must be above `least` for the comparison to say something, and two others.
template <class Loss>
void check_gradients(const Module& model, const Gradients& gradients, const Loss& loss, double least = 1e-4) {
  constexpr double kStep = 1e-5;
  RandomStream random(RandomKey{.seed = 4});
  for (const NamedParameter& parameter : model.named_parameters()) {
    CAPTURE(parameter.name);
    const std::vector<double> gradient = values_of(gradients.at(parameter.name));
    double* const values = parameter.variable.value().data<double>();
    const auto largest = std::ranges::max_element(gradient, {}, [](double g) { return std::abs(g); });
    CHECK(std::abs(*largest) > least);
    for (std::int64_t i : {largest - gradient.begin(), static_cast<std::ptrdiff_t>(random.below(gradient.size())),
                           static_cast<std::ptrdiff_t>(random.below(gradient.size()))}) {
      const double value = values[i];
      values[i] = value + kStep;
      const double above = loss();
      values[i] = value - kStep;
      const double below = loss();
      values[i] = value;
      CHECK(std::abs((above - below) / (2 * kStep) - gradient[i]) < 1e-8 + 1e-6 * std::abs(gradient[i]));
    }
  }
}

inline bool same_bits(const Gradients& a, const Gradients& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& entry) {
           return b.contains(entry.first) && same_bits(entry.second, b.at(entry.first));
         });
}

}  // namespace tapeformer
