#include "nn/labelling_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/ops/activations.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/layer_name.h"

namespace tapeformer {
namespace {

constexpr double kInitStd = 0.02;  // Devlin et al. 2019

}  // namespace

LabellingModel::LabellingModel(std::unique_ptr<TextEncoder> encoder, const LabellingOptions& options)
    : encoder_(std::move(encoder)), options_(options), dropout_(options.dropout) {
  check(options.labels > 0, "labelling model: expected at least one label, got ", options.labels);
  register_module("", *encoder_);
  // One token is read to learn how many layers there are, and how wide they are.
  Tape tape(no_grad);
  const std::vector<Variable> layers =
      encoder_->representations({.ids = Variable::constant(tape, Tensor::full({1, 1}, DType::i32, 0))});
  const std::int64_t dim = layers.back().size(2);
  const DType dtype = layers.back().dtype();
  const Init init = Init::truncated_normal(kInitStd);
  if (options.mix) {
    mix_ = std::make_unique<LayerMix>(std::ssize(layers), dtype);
    register_module("task.mix", *mix_);
  }
  if (options.pooled) {
    pooler_ = std::make_unique<Linear>(dim, dim, true, init, dtype);
    register_module("task.pooler", *pooler_);
  }
  output_ = std::make_unique<Linear>(dim, options.labels, true, init, dtype);
  register_module("task.output", *output_);
}

Variable LabellingModel::vectors(const TextRows& rows) const {
  const auto read = [&](const TextRows& of) {
    std::vector<Variable> layers = encoder_->representations(of);
    return options_.mix ? layers : std::vector<Variable>{layers.back()};
  };
  std::vector<Variable> layers;
  if (options_.freeze) {
    Tape& tape = *rows.ids.tape();
    Tape apart(no_grad);
    TextRows constant = rows;
    constant.ids = Variable::constant(apart, rows.ids.value());
    for (const Variable& layer : read(constant)) layers.push_back(Variable::constant(tape, layer.value()));
  } else {
    layers = read(rows);
  }
  return options_.mix ? mix_->forward(layers) : layers.front();
}

Variable LabellingModel::logits(const TextRows& rows, const Tensor& places) const {
  return call([&] {
    const Variable all = vectors(rows);
    const Variable ids = Variable::constant(*all.tape(), places);
    Variable chosen = dropout_.forward(embedding(reshape(all, {-1, all.size(2)}), ids));
    if (pooler_) chosen = dropout_.forward(tanh(pooler_->forward(chosen)));
    return output_->forward(chosen);
  });
}

ParameterRates LabellingModel::rates(double decay) const {
  // Names by depth: how many layers follow them.
  std::map<std::string, double, std::less<>> rates;
  std::int64_t layers = 0;
  const std::vector<NamedParameter> parameters = encoder_->named_parameters();
  for (const NamedParameter& parameter : parameters)
    layers = std::max(layers, layer_number(parameter.name).value_or(-1) + 1);
  bool behind = false;  // a layer came already
  for (const NamedParameter& parameter : parameters) {
    const std::int64_t layer = layer_number(parameter.name).value_or(-1);
    behind = behind || layer >= 0;
    const std::int64_t following = layer >= 0 ? layers - layer - 1 : behind ? 0 : layers;
    rates[parameter.name] = options_.freeze ? 0 : std::pow(decay, static_cast<double>(following));
  }
  return [rates = std::move(rates)](std::string_view name) {
    const auto found = rates.find(name);
    return found == rates.end() ? 1.0 : found->second;
  };
}

}  // namespace tapeformer
