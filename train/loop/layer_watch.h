// The norms of a model's layers in one step of training, which train.watch writes to the metrics.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nn/optim/parameter_slab.h"

namespace tapeformer {

// The layer that a parameter belongs to: its name up to the first number, "encoder.blocks.3" of
// "encoder.blocks.3.attention.qkv.weight" (layer_name()); without one, the name of the module: "final_norm".
std::string layer_of_parameter(std::string_view name);

// An object is made before a step, sees the gradients when they are complete, and gives the norms after the step. It
// registers hooks that see the outputs of the layers, and removes them in its destructor.
class LayerWatch {
 public:
  // The model and the slab must outlive the object.
  LayerWatch(const Module& model, const ParameterSlab& slab);

  // Call it before the optimizer uses the gradients, which may overwrite them.
  void see_gradients();

  // {"blocks.0": {"grad", "weight", "activation"}, …} in the order of the trainable parameters: the norm of the
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
