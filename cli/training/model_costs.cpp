#include "cli/training/model_costs.h"

#include <algorithm>
#include <cmath>

#include "nn/attention/attention.h"
#include "nn/layers/lora.h"
#include "nn/models/shared/transformer_keys.h"
#include "nn/module/layer_name.h"
#include "tasks/plan/sizes.h"
#include "train/distributed/make_optimizer.h"

namespace tapeformer::cli {
namespace {

// Returns the element of `list` whose `member` is `name`; appends a new one if there is none.
template <class T>
T& find_or_add(std::vector<T>& list, std::string T::*member, const std::string& name) {
  const auto found = std::ranges::find(list, name, member);
  if (found != list.end()) return *found;
  list.emplace_back().*member = name;
  return list.back();
}

// Splits a packed projection matrix (attention.qkv, attention.kv): returns how many of its rows belong to the queries,
// keys and values. Returns nothing for other parameters.
std::vector<std::pair<std::string, std::int64_t>> packed_rows(const std::string& part, const KeyValues& options) {
  const bool with_queries = part.ends_with("attention.qkv");
  if (!with_queries && !part.ends_with("attention.kv")) return {};
  const BlockConfig block = block_config(options);
  const HeadLayout heads = head_layout(block);
  const std::int64_t d = head_dim(block);
  const std::string stem = part.substr(0, part.rfind('.') + 1);
  std::vector<std::pair<std::string, std::int64_t>> rows;
  if (with_queries) rows.emplace_back(stem + "q", heads.queries * d);
  rows.emplace_back(stem + "k", heads.keys * d);
  rows.emplace_back(stem + "v", heads.keys * heads.value_dim);
  return rows;
}

using Adapters = std::map<std::string, LoraWeights>;  // by the names of their layers

// Returns the modules of a layer to which a parameter of `part` belongs, with the number of its elements that each has:
// of a packed projection its rows, and of an adapter of it the matrices A and B that change these rows.
std::vector<std::pair<std::string, std::int64_t>> elements_of(const NamedParameter& parameter, const std::string& part,
                                                              const KeyValues& options, const Adapters& adapters) {
  const std::int64_t count = parameter.variable.sizes().product();
  auto modules = packed_rows(part, options);
  if (modules.empty()) return {{part, count}};
  if (!is_adapter(parameter.name)) {
    for (auto& module : modules) module.second *= count / parameter.variable.size(0);
    return modules;
  }
  const LoraWeights& lora = adapters.at(parameter.name.substr(0, parameter.name.rfind('.')));
  const bool is_a = parameter.name.ends_with("lora_a");
  const std::int64_t of_a = count / std::ssize(lora.parts), rank = lora.b.size(1);
  std::int64_t begin = 0;
  for (auto& module : modules) {
    const std::int64_t end = begin + module.second;
    module.second = 0;
    for (const LoraPart& changed : lora.parts) {
      if (changed.row >= begin && changed.row < end) module.second += is_a ? of_a : changed.rows * rank;
    }
    begin = end;
  }
  return modules;
}

std::vector<ModelCosts::Layer> count_layers(const Module& model, const KeyValues& options) {
  std::vector<ModelCosts::Layer> layers;
  const Adapters adapters = adapters_of(model);
  for (const NamedParameter& parameter : model.named_parameters()) {
    const std::string name(layer_name(parameter.name));
    if (name.empty()) continue;
    ModelCosts::Layer& layer = find_or_add(layers, &ModelCosts::Layer::name, name);
    layer.parameters += parameter.variable.sizes().product();
    std::string part = parameter.name.substr(name.size() + 1);
    part = part.substr(0, part.rfind('.'));
    for (const auto& [module, count] : elements_of(parameter, part, options, adapters)) {
      find_or_add(layer.parts, &ModelCosts::Part::key, module).parameters += count;
    }
  }
  return layers;
}

}  // namespace

ModelCosts model_costs(const ResolvedConfig& config, const ObjectiveData& data) {
  const ShapesOnly shapes;  // allocates no memory for the parameters
  const ModelFamily& family = config.family();
  const ModelVocabulary vocabulary = data.vocabulary(config);
  const TrainingShape shape = data.shape(config);
  const Module* const model = shape.model.get();
  std::vector<ModelPart> parts = family.parts;
  parts.insert(parts.end(), shape.parts.begin(), shape.parts.end());
  ModelCosts costs{.vocab = vocabulary.target, .parts = {}, .layers = count_layers(*model, config.model.options)};
  const ParameterCounts counts = count_parameters(*model);
  costs.total = counts.all;
  costs.non_embedding = counts.non_embedding;
  costs.matrices = counts.matrices;
  for (const NamedParameter& parameter : model->named_parameters()) {
    if (!parameter.variable.requires_grad() || (shape.rates && shape.rates(parameter.name) == 0)) continue;
    const std::int64_t elements = parameter.variable.sizes().product();
    costs.learning += elements;
    costs.optimizer_bytes += optimizer_bytes(config, parameter.role.kind, elements);
  }
  for (const ModelPart& part : parts) {
    std::int64_t parameters = 0;
    for (const std::string& prefix : part.prefixes) parameters += model->parameter_count(prefix);
    // The head is the only part that may share all of its weights with another.
    const bool tied = parameters == 0 && part.key == "head";
    costs.parts.push_back({part.key, tied ? part.label + " (tied)" : part.label, parameters});
    if (part.only_pretraining) costs.without_heads = costs.without_heads.value_or(costs.total) - parameters;
  }
  const double row = shape.block_size;
  const std::int64_t micro_step = config.train.batch_tokens
                                      ? config.train.batch_tokens
                                      : std::llround(static_cast<double>(config.train.batch * shape.rows) * row);
  costs.tokens_per_step = config.train.accumulate * micro_step;
  const ForwardFlops forward =
      family.flops(config.model.options, *model, vocabulary, config.data.within_document ? 0 : std::llround(row));
  costs.flops_per_token = shape.flops(forward);
  return costs;
}

std::vector<LayerGroup> equal_layers(const ModelCosts& costs) {
  const auto stem = [](const ModelCosts::Layer& layer) { return layer.name.substr(0, layer.name.rfind('.')); };
  std::vector<LayerGroup> runs;
  for (const ModelCosts::Layer& layer : costs.layers) {
    const bool goes_on =
        !runs.empty() && runs.back().second->parameters == layer.parameters && stem(*runs.back().second) == stem(layer);
    if (goes_on) {
      runs.back().second = &layer;
    } else {
      runs.emplace_back(&layer, &layer);
    }
  }
  return runs;
}

}  // namespace tapeformer::cli
