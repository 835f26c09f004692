// What the comparisons with PyTorch share: the scripts golden/make_*_golden.py made the numbers and say what they are.
#pragma once

#include "core/random.h"
#include "nn/formats/safetensors.h"
#include "nn/optim/optimizers.h"
#include "tests/nn/transformer_support.h"

namespace tapeformer {

using Golden = std::map<std::string, Tensor>;

inline const Golden& golden() {
  static const Golden tensors = [] {
    Golden all;
    for (const char* file : {"gpt", "transformer", "rnn", "bilm", "rnn_seq2seq", "llama", "bert"}) {
      all.merge(read_safetensors(str_cat(TEST_DATA "/golden/", file, ".safetensors")));
    }
    return all;
  }();
  return tensors;
}

// The tensors PREFIX/NAME by NAME.
inline Golden part(const std::string& prefix) {
  Golden found;
  for (const auto& [name, tensor] : golden()) {
    if (name.starts_with(prefix + "/")) found.emplace(name.substr(prefix.size() + 1), tensor);
  }
  return found;
}

// Gives the model the weights with which PyTorch began.
// `moved`: 0, or the number of a set of roundings: each weight moves by half of its last place, up, down or not at all.
inline void load_start(const std::string& model_name, const Module& model, DType dtype, std::uint32_t moved = 0) {
  constexpr float kHalfPlace = 5.96e-8f;
  RandomStream random({.seed = moved});
  Golden start;
  for (const auto& [name, tensor] : part(model_name + "/param")) {
    Tensor& weights = start.emplace(name, tensor.to(dtype).clone()).first->second;
    if (moved == 0) continue;
    for (float& weight : weights.span<float>())
      weight *= 1 + kHalfPlace * (static_cast<float>(random.next_u32() % 3) - 1);
  }
  model.load_state_dict(start);
}

// The part of an attention bias that makes the keys gets the gradient zero by definition, since softmax does not change
// when every score of a row moves by as much. What rounding leaves of it, Adam divides by its own size: in f32 that
// part moves at random, without any effect, and cannot be compared.
inline Golden without_key_biases(const Golden& tensors) {
  Golden result = tensors;
  for (auto& [name, tensor] : result) {
    const std::int64_t rows = name.ends_with("qkv.bias") || name.ends_with(".kv.bias") ? tensor.size(0) : 0;
    if (rows == 0) continue;
    tensor = tensor.clone();
    if (name.ends_with("qkv.bias")) tensor.slice(0, rows / 3, 2 * rows / 3).fill(0);
    if (name.ends_with(".kv.bias")) tensor.slice(0, 0, rows / 2).fill(0);
  }
  return result;
}

inline void check_parts(const Golden& got, const Golden& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (const auto& entry : expected) {
    CAPTURE(entry.first);
    REQUIRE(got.contains(entry.first));
    CHECK(distance(got.at(entry.first), entry.second) <= tolerance);
  }
}

// Ten steps of AdamW from the golden start: visit(step, loss, norm) after each.
template <class AddGradients, class Visit>
void train_from_start(const Module& model, double weight_decay, std::size_t steps, const AddGradients& add_gradients,
                      const Visit& visit) {
  const ParameterSlab slab(model);
  const auto optimizer = make_optimizer(
      "adamw", slab, {{"beta1", 0.9}, {"beta2", 0.98}, {"eps", 1e-9}, {"weight_decay", weight_decay}, {"clip", 1.0}});
  for (std::size_t step = 0; step < steps; ++step) {
    slab.zero_grad();
    const double loss = add_gradients();
    visit(step, loss, optimizer->step(3e-3, static_cast<std::int64_t>(step) + 1));
  }
}

// How far the gradients' norms move when the weights at the start move by half of their last place: what f32 cannot
// tell. Adam divides by the size of a gradient, however small it is, so that this grows from step to step.
template <class AddGradients>
std::vector<double> rounding_of_norms(const std::string& model_name, const Module& model, double weight_decay,
                                      std::size_t steps, const AddGradients& add_gradients) {
  std::vector<double> norms, furthest(steps);
  for (const std::uint32_t moved : {0, 1, 2, 3, 4}) {
    load_start(model_name, model, DType::f32, moved);
    train_from_start(model, weight_decay, steps, add_gradients, [&](std::size_t step, double, double norm) {
      if (moved == 0) norms.push_back(norm);
      furthest[step] = std::max(furthest[step], std::abs(norm - norms[step]));
    });
  }
  return furthest;
}

// Every tensor to `tolerance` of its largest element; add_gradients() gives the loss of one step on the golden batch.
// The norms of f32 may differ by twice what rounding does to them as well.
template <class AddGradients>
void check_training(const std::string& model_name, const Module& model, DType dtype, double weight_decay,
                    double tolerance, const AddGradients& add_gradients) {
  const std::vector<double> losses = values_of(golden().at(model_name + "/losses"));
  const std::vector<double> norms = values_of(golden().at(model_name + "/norms"));
  std::vector<double> rounding(norms.size());
  if (dtype == DType::f32) rounding = rounding_of_norms(model_name, model, weight_decay, norms.size(), add_gradients);
  load_start(model_name, model, dtype);
  {
    const ParameterSlab slab(model);
    slab.zero_grad();
    add_gradients();
    check_parts(gradients_of(model), part(model_name + "/grad"), tolerance);
  }
  train_from_start(model, weight_decay, losses.size(), add_gradients, [&](std::size_t step, double loss, double norm) {
    CAPTURE(step);
    CHECK(std::abs(loss - losses[step]) <= tolerance * losses[step]);
    CHECK(std::abs(norm - norms[step]) <= tolerance * norms[step] + 2 * rounding[step]);
  });
  const Golden after = part(model_name + "/after");
  if (dtype == DType::f64) {
    check_parts(model.state_dict(), after, tolerance);
  } else {
    check_parts(without_key_biases(model.state_dict()), without_key_biases(after), tolerance);
  }
}

inline void check_translator(const std::string& model_name, const EncoderDecoder& model, DType dtype, double smoothing,
                             double tolerance, double z_loss = 0) {
  const auto tensor = [&](const char* name) { return golden().at(str_cat(model_name, "/", name)); };
  const PairBatch batch{{tensor("source"), tensor("source_lengths")}, tensor("inputs"), tensor("targets")};
  check_training(model_name, model, dtype, 0, tolerance, [&] {
    return add_gradients(model, batch, {.smoothing = smoothing, .z_loss = z_loss}, {.training = true});
  });
}

// The vectors of every layer, (B, T, F), at the tokens that are no padding.
inline void check_layers(const std::string& name, const std::vector<Variable>& layers, const Tensor& lengths,
                         double tolerance) {
  for (std::size_t j = 0; j < layers.size(); ++j) {
    for (std::int64_t row = 0; row < lengths.numel(); ++row) {
      const auto own = [&](const Tensor& x) {
        return x.slice(0, row, row + 1).slice(1, 0, lengths.data<std::int32_t>()[row]).contiguous();
      };
      CHECK(distance(own(layers[j].value()), own(golden().at(str_cat(name, "/layer.", j)))) <= tolerance);
    }
  }
}

// Ten steps move every parameter far enough for the comparison to be one.
inline void check_moves(const std::string& model_name) {
  CAPTURE(model_name);
  const Golden start = part(model_name + "/param"), after = part(model_name + "/after");
  REQUIRE(!start.empty());
  for (const auto& [name, tensor] : start) CHECK(distance(after.at(name), tensor) > 1e-3);
}

}  // namespace tapeformer
