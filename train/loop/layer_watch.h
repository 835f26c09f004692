// The norms of a model's layers in one step of training: what train.watch writes.
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

// Made before a step, shown its gradients when they are complete, asked after it. The outputs of the layers are seen by
// hooks, which an object takes away with it.
class LayerWatch {
 public:
  // Model and slab must live as long.
  LayerWatch(const Module& model, const ParameterSlab& slab);

  // Before the optimizer uses them: it may leave something else in their place.
  void see_gradients();

  // {"blocks.0": {"grad", "weight", "activation"}, …} in the order of the parameters that learn: the norm of the
  // gradients before clipping, the norm of the weights as the step has left them, and, of a layer with a number, the
  // root mean square of its outputs.
  nlohmann::ordered_json norms() const;

 private:
  struct Outputs {
    double squares = 0;
    std::int64_t count = 0;
  };

  const ParameterSlab& slab_;
  std::map<std::string, Outputs> outputs_;   // by layer
  std::map<std::string, double> gradients_;  // squares, by layer
  std::vector<HookHandle> hooks_;
};

}  // namespace tapeformer
