#include "cli/model_costs.h"

#include <algorithm>

#include "nn/layer_name.h"
#include "train/config/model_config.h"

namespace tapeformer::cli {
namespace {

// Backward does the products of the forward twice. Recomputing does the forward of all blocks but the last again.
double training_flops(const ForwardFlops& forward, bool recompute) {
  const double blocks = static_cast<double>(forward.count);
  const double again = recompute ? forward.blocks * (blocks - 1) / blocks : 0;
  return 3 * (forward.blocks + forward.other) + again;
}

std::vector<ModelCosts::Part> count_layers(const Module& model) {
  std::vector<ModelCosts::Part> layers;
  for (const NamedParameter& parameter : model.named_parameters()) {
    const std::string layer(layer_name(parameter.name));
    if (layer.empty()) continue;
    const auto same = [&](const ModelCosts::Part& part) { return part.key == layer; };
    auto place = std::ranges::find_if(layers, same);
    if (place == layers.end()) place = layers.insert(place, {layer, layer, 0});
    place->parameters += parameter.variable.sizes().product();
  }
  return layers;
}

}  // namespace

ModelCosts model_costs(const ResolvedConfig& config, const ObjectiveData& data) {
  const ShapesOnly shapes;  // no memory for the parameters
  const ModelFamily& family = config.family();
  const ModelVocabulary vocabulary = model_vocabulary(config, data);
  std::unique_ptr<Module> model;
  ParameterRates rates;
  std::vector<ModelPart> parts = family.parts;
  if (const auto* task = std::get_if<TaskData>(&data)) {
    auto labelling = make_labelling_model(config, *task->tokenizer, std::ssize(task->labels));
    rates = task_rates(config, *labelling);
    model = std::move(labelling);
    parts.push_back({"task", "classifier of " + config.task.kind, {"task."}});
  } else {
    model = make_model(config, vocabulary);
  }
  ModelCosts costs{.vocab = vocabulary.target,
                   .parts = {},
                   .layers = count_layers(*model),
                   .total = model->parameter_count(),
                   .learning = 0};
  for (const NamedParameter& parameter : model->named_parameters()) {
    if (!rates || rates(parameter.name) > 0) costs.learning += parameter.variable.sizes().product();
  }
  for (const ModelPart& part : parts) {
    std::int64_t parameters = 0;
    for (const std::string& prefix : part.prefixes) parameters += model->parameter_count(prefix);
    // The one part that may share all of its weights with another.
    const bool tied = parameters == 0 && part.key == "head";
    costs.parts.push_back({part.key, tied ? part.label + " (tied)" : part.label, parameters});
    if (part.only_pretraining) costs.without_heads = costs.without_heads.value_or(costs.total) - parameters;
  }
  const std::int64_t row = config.row_tokens();
  const std::int64_t micro_step = config.train.batch_tokens ? config.train.batch_tokens : config.train.batch * row;
  costs.tokens_per_step = config.train.accumulate * micro_step;
  const bool length_known = !config.data.within_document && config.train.batch_tokens == 0;
  ForwardFlops forward = family.flops(config.model.options, *model, vocabulary, length_known ? row : 0);
  if (config.has_task()) forward.other = 0;  // no token is predicted, and a classifier of labels is small
  costs.flops_per_token = training_flops(forward, config.train.recompute);
  return costs;
}

}  // namespace tapeformer::cli
