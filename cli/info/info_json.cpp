#include <nlohmann/json.hpp>

#include "cli/info/info.h"
#include "cli/terminal/results.h"
#include "cli/training/planning.h"
#include "core/parallel.h"

namespace tapeformer::cli {
namespace {

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json parameters_json(const ModelCosts& costs) {
  Json parameters;
  for (const ModelCosts::Part& part : costs.parts) parameters[part.key] = part.parameters;
  parameters["total"] = costs.total;
  if (costs.without_heads) parameters["without_heads"] = *costs.without_heads;
  return parameters;
}

Json layers_json(const ModelCosts& costs) {
  Json layers = Json::object();
  for (const ModelCosts::Layer& layer : costs.layers) layers[layer.name] = layer.parameters;
  return layers;
}

Json layer_parts_json(const ModelCosts& costs) {
  Json layers = Json::object();
  for (const auto& [first, last] : equal_layers(costs)) {
    for (const ModelCosts::Part& part : first->parts) layers[first->name][part.key] = part.parameters;
  }
  return layers;
}

Json memory_json(const Info& info) {
  std::optional<std::int64_t> activations, other, peak;
  if (info.dry_run) {
    activations = info.dry_run->activation_bytes;
    peak = info.dry_run->peak_bytes;
    other = *peak - info.state_bytes() - *activations;
  }
  return {{"weights", info.costs.weight_bytes()},
          {"gradients", info.costs.gradient_bytes()},
          {"optimizer", info.costs.optimizer_bytes},
          {"activations", json_of(activations)},
          {"other", json_of(other)},
          {"peak", json_of(peak)},
          {"machine", info.machine_bytes}};
}

Json advice_json(const Info& info) {
  Json advice = Json::array();
  for (const Advice& option : info.advice) {
    Json set;
    for (const auto& [key, value] : option.changes) set[key] = value.front();
    advice.push_back(
        {{"set", set}, {"peak_bytes", option.peak_bytes}, {"fits", option.peak_bytes <= info.machine_bytes}});
  }
  return advice;
}

}  // namespace

Json info_json(const Info& info) {
  const ModelCosts& costs = info.costs;
  Json json{{"type", info.config.model.type},
            {"vocab", costs.vocab},
            {"vocab_from", info.vocab_origin},
            {"data", info.no_data.empty() ? "read" : "made up"},
            {"parameters", parameters_json(costs)},
            {"layers", layers_json(costs)},
            {"layer_parts", layer_parts_json(costs)},
            {"learning", costs.learning},
            {"non_embedding", costs.non_embedding},
            {"matrices", costs.matrices},
            {"memory", memory_json(info)},
            {"fits", info.fits()},
            {"advice", advice_json(info)},
            {"matmul", word_of(info.config.train.matmul)},
            {"threads", thread_count()},
            {"machine_flops", info.machine_flops},
            {"tokens_per_step", costs.tokens_per_step},
            {"flops_per_token", costs.flops_per_token},
            {"method", info.method()},
            {"step_seconds", info.step_seconds},
            {"evaluation_seconds", json_of(info.evaluation_seconds())},
            {"steps", info.steps()},
            {"evaluations", info.evaluations()},
            {"training_seconds", info.training_seconds()}};
  if (!info.planned.empty()) json["plan"] = plan_json(info.planned);
  if (const auto& measured = info.measured) {
    json["measured"] = {{"steps", measured->steps},
                        {"step_seconds", json_of(measured->step_seconds)},
                        {"training_seconds", measured->elapsed_seconds},
                        {"peak", measured->peak_bytes > 0 ? Json(measured->peak_bytes) : Json()}};
  }
  return json;
}

}  // namespace tapeformer::cli
