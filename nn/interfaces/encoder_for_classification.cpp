#include "nn/interfaces/encoder_for_classification.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/ops/activations.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/interfaces/layer_widths.h"
#include "nn/module/layer_name.h"

namespace tapeformer {
namespace {

constexpr double kInitStd = 0.02;  // Devlin et al. 2019

// Finds out which of the given parameters the ops of a tape read.
class ParametersRead : public OpObserver {
 public:
  explicit ParametersRead(std::vector<NamedParameter> parameters) : unread_(std::move(parameters)) {}

  void forward_begins(const char*, std::span<const Variable* const> inputs) override {
    for (const Variable* input : inputs) {
      const auto same = [&](const NamedParameter& parameter) { return parameter.variable.same_parameter(*input); };
      if (std::erase_if(unread_, same) > 0) read.push_back(*input);
    }
  }
  void forward_ended(const char*, std::size_t, std::span<const Tensor>) override {}
  void backward_ended(const char*, std::size_t, std::span<const Tensor>, std::span<const Tensor>) override {}

  std::vector<Variable> read;

 private:
  std::vector<NamedParameter> unread_;
};

// Returns the rates of the encoder's parameters: 0 for a parameter that is not in `learning`.
ParameterRates rates_of(const Model& encoder, std::span<const Variable> learning, double decay) {
  // The rate of a parameter depends on the number of layers that follow it.
  std::map<std::string, double, std::less<>> rates;
  std::int64_t layers = 0;
  const std::vector<NamedParameter> parameters = encoder.named_parameters();
  for (const NamedParameter& parameter : parameters)
    layers = std::max(layers, layer_number(parameter.name).value_or(-1) + 1);
  bool seen_layer = false;
  for (const NamedParameter& parameter : parameters) {
    const std::int64_t layer = layer_number(parameter.name).value_or(-1);
    seen_layer = seen_layer || layer >= 0;
    const std::int64_t following = layer >= 0 ? layers - layer - 1 : seen_layer ? 0 : layers;
    const auto same = [&](const Variable& read) { return read.same_parameter(parameter.variable); };
    const bool learns = std::ranges::any_of(learning, same);
    rates[parameter.name] = learns ? std::pow(decay, static_cast<double>(following)) : 0;
  }
  return [rates = std::move(rates)](std::string_view name) {
    const auto found = rates.find(name);
    return found == rates.end() ? 1.0 : found->second;
  };
}

}  // namespace

EncoderForClassification::Classifier::Classifier(const ClassificationOptions& options, std::span<const Tensor> layers) {
  const std::int64_t dim = layers.back().size(2);
  const DType dtype = layers.back().dtype();
  const Init init = Init::truncated_normal(kInitStd);
  if (options.mix) {
    mix = std::make_unique<ScalarMix>(std::ssize(layers), dtype);
    register_module("mix", *mix);
  }
  if (options.pooled) {
    pooler = std::make_unique<Linear>(dim, dim, true, init, dtype);
    register_module("pooler", *pooler);
  }
  output = std::make_unique<Linear>(dim, options.labels, true, init, dtype, ParameterKind::head);
  register_module("output", *output);
}

EncoderForClassification::EncoderForClassification(std::shared_ptr<Model> encoder, const ClassificationOptions& options)
    : encoder_(std::move(encoder)), options_(options), dropout_(options.dropout) {
  check(options.labels > 0, "encoder for classification: expected at least one label, got ", options.labels);
  register_module("", *encoder_);
  ParametersRead observer(encoder_->named_parameters());
  const std::vector<Tensor> layers = layers_of_one_token(*encoder_, &observer);
  read_ = std::move(observer.read);
  if (options.mix) require_equal_widths(layers, "task.mix");
  classifier_ = std::make_unique<Classifier>(options, layers);
  register_module("task", *classifier_);
}

Variable EncoderForClassification::vectors(const Batch& batch) const {
  const auto read = [&](const Batch& of) {
    std::vector<Variable> layers = encoder_->hidden_states(of);
    return options_.mix ? layers : std::vector<Variable>{layers.back()};
  };
  std::vector<Variable> layers;
  if (options_.freeze) {
    Tape& tape = *batch.inputs().tape();
    Tape encoder_tape(no_grad);
    for (const Variable& layer : read(batch.on(encoder_tape)))
      layers.push_back(Variable::constant(tape, layer.value()));
  } else {
    layers = read(batch);
  }
  return options_.mix ? classifier_->mix->forward(layers) : layers.front();
}

Variable EncoderForClassification::logits(const Batch& batch, const Tensor& positions) const {
  return call([&] {
    const Variable all = vectors(batch);
    const Variable ids = Variable::constant(*all.tape(), positions);
    Variable chosen = dropout_.forward(embedding(reshape(all, {-1, all.size(2)}), ids));
    const Classifier& classifier = *classifier_;
    if (classifier.pooler) chosen = dropout_.forward(tanh(classifier.pooler->forward(chosen)));
    return classifier.output->forward(chosen);
  });
}

ParameterRates EncoderForClassification::rates(double decay) const {
  return rates_of(*encoder_, options_.freeze ? std::vector<Variable>() : read_, decay);
}

ParameterRates encoder_rates(const Model& encoder, double decay) {
  ParametersRead observer(encoder.named_parameters());
  layers_of_one_token(encoder, &observer);
  return rates_of(encoder, observer.read, decay);
}

}  // namespace tapeformer
