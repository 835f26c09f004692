// The norms of a model's layers in one step of training, which train.watch writes to the metrics.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nn/optim/parameter_slab.h"

namespace tapeformer {

// Returns the layer that a parameter belongs to: layer_name(), "encoder.blocks.3" for
// "encoder.blocks.3.attention.qkv.weight", or, if that is empty, the module's name, "final_norm" for
// "final_norm.weight".
std::string layer_of_parameter(std::string_view name);

// Make an object before a step, call see_gradients() during the step, and norms() after it. While the object lives,
// hooks of the model's layers give it their outputs.
class LayerWatch {
 public:
  // The model and the slab must outlive the object.
  LayerWatch(const Module& model, const ParameterSlab& slab);

  // Call it before the optimizer uses the gradients, which may overwrite them.
  void see_gradients();

  // Returns {"blocks.0": {"grad", "weight", "activation"}, …} in the order of the trainable parameters: the norm of the
  // gradients before clipping, the norm of the weights after the step, and, for a layer with a number, the root mean
  // square of its outputs.
  nlohmann::ordered_json norms() const;

 private:
  struct Outputs {
    double squares = 0;
    std::int64_t count = 0;
  };

  const ParameterSlab& slab_;
  std::map<std::string, Outputs> outputs_;   // by layer
  std::map<std::string, double> gradients_;  // squared norms, by layer
  std::vector<HookHandle> hooks_;
};

}  // namespace tapeformer
