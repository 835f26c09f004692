#include "cli/model_costs.h"

#include <algorithm>
#include <cmath>

#include "nn/attention.h"
#include "nn/layer_name.h"
#include "nn/models/transformer_keys.h"
#include "train/config/model_config.h"
#include "train/config/optim_config.h"
#include "train/tasks/labelled_rows.h"

namespace tapeformer::cli {
namespace {

// Backward does the products of the forward twice. Recomputing does the forward of all blocks but the last again.
double training_flops(const ForwardFlops& forward, bool recompute) {
  const double blocks = static_cast<double>(forward.count);
  const double again = recompute ? forward.blocks * (blocks - 1) / blocks : 0;
  return 3 * (forward.blocks + forward.other) + again;
}

// What the rows of a fine-tuning's examples have in the mean. A part of the examples stands for all.
struct MeanRow {
  double tokens = 0, places = 0;
};

MeanRow mean_row(const TaskData& data, const ResolvedConfig& config, const LabellingModel& model) {
  constexpr std::size_t kExamples = 512;
  const RowEncoder encoder(find_task(config.task.kind), model.encoder(), *data.tokenizer, data.labels);
  const std::size_t distance = data.train.size() / kExamples + 1;
  MeanRow sum;
  double rows = 0;
  for (std::size_t i = 0; i < data.train.size(); i += distance) {
    for (const LabelledRow& row : encoder.encode(data.train[i], str_cat("data.labels: example ", i + 1, ": "))) {
      sum.tokens += static_cast<double>(row.ids.size());
      sum.places += static_cast<double>(row.places.size());
      ++rows;
    }
  }
  return {sum.tokens / rows, sum.places / rows};
}

// A token of a fine-tuning goes through the encoder, which is only read where it is frozen; the classifier sees as many
// of them as have a label.
double task_flops(ForwardFlops forward, const MeanRow& row, const Module& model, const ResolvedConfig& config) {
  forward.other -= forward.head;
  const double encoder =
      config.task.freeze ? forward.blocks + forward.other : training_flops(forward, config.train.recompute);
  const double classifier = 2 * static_cast<double>(model.parameter_count("task."));
  return encoder + 3 * classifier * row.places / row.tokens;
}

// The element of `list` whose `member` is `name`: a new one at the end where there is none.
template <class T>
T& find_or_add(std::vector<T>& list, std::string T::*member, const std::string& name) {
  const auto found = std::ranges::find(list, name, member);
  if (found != list.end()) return *found;
  list.emplace_back().*member = name;
  return list.back();
}

// One product gives queries, keys and values: how many of its rows are theirs.
std::vector<std::pair<std::string, std::int64_t>> packed_rows(const std::string& part, const KeyValues& options) {
  const bool with_queries = part.ends_with("attention.qkv");
  if (!with_queries && !part.ends_with("attention.kv")) return {};
  const BlockConfig block = block_config(options);
  const std::int64_t groups = block.kv_heads > 0 ? block.kv_heads : block.heads, d = head_dim(block);
  const std::string stem = part.substr(0, part.rfind('.') + 1);
  std::vector<std::pair<std::string, std::int64_t>> rows;
  if (with_queries) rows.emplace_back(stem + "q", block.heads * d);
  rows.emplace_back(stem + "k", groups * d);
  rows.emplace_back(stem + "v", groups * (block.value_dim > 0 ? block.value_dim : d));
  return rows;
}

std::vector<ModelCosts::Layer> count_layers(const Module& model, const KeyValues& options) {
  std::vector<ModelCosts::Layer> layers;
  for (const NamedParameter& parameter : model.named_parameters()) {
    const std::string name(layer_name(parameter.name));
    if (name.empty()) continue;
    const std::int64_t count = parameter.variable.sizes().product();
    ModelCosts::Layer& layer = find_or_add(layers, &ModelCosts::Layer::name, name);
    layer.parameters += count;
    std::string part = parameter.name.substr(name.size() + 1);
    part = part.substr(0, part.rfind('.'));
    auto rows = packed_rows(part, options);
    if (rows.empty()) rows.emplace_back(part, parameter.variable.size(0));
    for (const auto& [module, height] : rows) {
      find_or_add(layer.parts, &ModelCosts::Part::key, module).parameters +=
          count / parameter.variable.size(0) * height;
    }
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
  std::optional<MeanRow> row_of_task;
  std::vector<ModelPart> parts = family.parts;
  if (const auto* task = std::get_if<TaskData>(&data)) {
    auto labelling = make_labelling_model(config, *task->tokenizer, std::ssize(task->labels));
    rates = labelling->rates(config.task.layer_decay);
    row_of_task = mean_row(*task, config, *labelling);
    model = std::move(labelling);
    parts.push_back({"task", "classifier of " + config.task.kind, {"task."}});
  } else {
    model = make_model(config, vocabulary);
  }
  ModelCosts costs{.vocab = vocabulary.target,
                   .parts = {},
                   .layers = count_layers(*model, config.model.options),
                   .total = model->parameter_count(),
                   .optimizer_numbers = 0,
                   .learning = 0};
  for (const NamedParameter& parameter : model->named_parameters()) {
    if (rates && rates(parameter.name) == 0) continue;
    const std::int64_t elements = parameter.variable.sizes().product();
    costs.learning += elements;
    costs.optimizer_numbers += numbers_per_parameter(config, parameter.role.kind) * elements;
  }
  for (const ModelPart& part : parts) {
    std::int64_t parameters = 0;
    for (const std::string& prefix : part.prefixes) parameters += model->parameter_count(prefix);
    // The one part that may share all of its weights with another.
    const bool tied = parameters == 0 && part.key == "head";
    costs.parts.push_back({part.key, tied ? part.label + " (tied)" : part.label, parameters});
    if (part.only_pretraining) costs.without_heads = costs.without_heads.value_or(costs.total) - parameters;
  }
  const double row = row_of_task ? row_of_task->tokens : static_cast<double>(config.row_tokens());
  const std::int64_t micro_step = config.train.batch_tokens
                                      ? config.train.batch_tokens
                                      : std::llround(static_cast<double>(config.train.batch) * row);
  costs.tokens_per_step = config.train.accumulate * micro_step;
  const bool length_known = !config.data.within_document && config.train.batch_tokens == 0;
  const ForwardFlops forward =
      family.flops(config.model.options, *model, vocabulary, length_known ? std::llround(row) : 0);
  costs.flops_per_token =
      row_of_task ? task_flops(forward, *row_of_task, *model, config) : training_flops(forward, config.train.recompute);
  return costs;
}

}  // namespace tapeformer::cli
