#include "train/loop/layer_watch.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autograd/kernels/reduce.h"
#include "nn/module/layer_name.h"

namespace tapeformer {
namespace {

double sum_of_squares(const Tensor& x) {
  const Tensor dense = x.contiguous();
  return dispatch_floating(dense.dtype(),
                           [&]<class T>(T) { return kernels::sum_of_squares(dense.data<T>(), dense.numel()); });
}

}  // namespace

std::string layer_of_parameter(std::string_view name) {
  const std::string_view layer = layer_name(name);
  return std::string(layer.empty() ? name.substr(0, name.rfind('.')) : layer);
}

LayerWatch::LayerWatch(const Module& model, const ParameterSlab& slab) : slab_(slab) {
  for (const ParameterSlab::Part& part : slab.parts()) {
    if (const std::string_view layer = layer_name(part.name); !layer.empty()) outputs_[std::string(layer)];
  }
  for (const NamedModule& named : model.named_modules()) {
    const auto layer = outputs_.find(named.name);
    if (layer == outputs_.end()) continue;
    hooks_.push_back(named.module->register_forward_hook([&outputs = layer->second](const Module&, const Variable& y) {
      outputs.squares += sum_of_squares(y.value());
      outputs.count += y.value().numel();
      return Variable();
    }));
  }
}

void LayerWatch::see_gradients() {
  gradients_.clear();
  for (const ParameterSlab::Part& part : slab_.parts()) {
    gradients_[layer_of_parameter(part.name)] +=
        sum_of_squares(slab_.gradients().slice(0, part.begin, part.begin + part.size));
  }
}

nlohmann::ordered_json LayerWatch::norms() const {
  std::vector<std::pair<std::string, double>> layers;  // squared norms of the weights, in the order of the parameters
  for (const ParameterSlab::Part& part : slab_.parts()) {
    const std::string name = layer_of_parameter(part.name);
    auto layer = std::ranges::find(layers, name, &std::pair<std::string, double>::first);
    if (layer == layers.end()) layer = layers.insert(layers.end(), {name, 0});
    layer->second += sum_of_squares(slab_.values().slice(0, part.begin, part.begin + part.size));
  }
  nlohmann::ordered_json norms = nlohmann::ordered_json::object();
  for (const auto& [name, squares] : layers) {
    norms[name] = {{"grad", std::sqrt(gradients_.at(name))}, {"weight", std::sqrt(squares)}};
    const auto outputs = outputs_.find(name);
    if (outputs == outputs_.end() || outputs->second.count == 0) continue;
    norms[name]["activation"] = std::sqrt(outputs->second.squares / static_cast<double>(outputs->second.count));
  }
  return norms;
}

}  // namespace tapeformer
