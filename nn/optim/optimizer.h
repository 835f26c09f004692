// What training knows of an optimizer: steps over the slabs of a model, and a state that checkpoints store.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autograd/tape/tape.h"
#include "nn/formats/safetensors.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {

// What an update rule needs to know about a step.
struct OptimizerStep {
  double lr;
  std::int64_t step;      // counted from 1
  double gradient_scale;  // below 1 where the gradient is clipped: the rule multiplies every gradient by it
};

// The base of every optimizer. It clips, and keeps the state by name; a derived class adds its state slabs in its
// constructor and defines update().
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates the parameters by the gradients that backward left in the slab. `step` counts from 1. Returns the global
  // norm of the gradients before clipping. When the norm is not finite, nothing is updated.
  double step(double lr, std::int64_t step);
  // The two halves of a step: the global norm of the gradients, which are complete then, and the update.
  virtual double gradient_norm();
  void apply(const OptimizerStep& step);
  // The step at a learning rate for gradients of this norm.
  OptimizerStep clipped(double lr, std::int64_t step, double norm) const {
    return {.lr = lr, .step = step, .gradient_scale = clip_ > 0 && norm > clip_ ? clip_ / norm : 1};
  }
  // For the tape of the last backward before a step: lets the optimizer use gradients while backward is still running.
  // Null: it does not need them earlier.
  virtual const GradientObserver* gradient_observer() { return nullptr; }

  // The sum of the squares of all gradients in the slab.
  double squared_norm() const;

  // PREFIX.NAME for every state slab and parameter, sharing the slabs' memory.
  virtual NamedTensors state() const;
  // Copies values in. Throws Error, changing nothing, when a name is missing or unknown, or a shape or dtype differs.
  void load_state(const std::map<std::string, Tensor>& state);
  // The same from a file, each tensor straight into its place.
  void load_state(const SafetensorsFile& file);

 protected:
  // Keeps a reference to the slab. `clip` is the largest global norm of the gradients; 0: no clipping.
  Optimizer(const ParameterSlab& slab, double clip);

  using TakesPart = std::function<bool(const ParameterSlab::Part&)>;
  // A new slab of zeros that belongs to the state, with the parameters one after another; of those alone that `takes`
  // accepts, where it is given.
  Tensor add_state(const std::string& prefix, TakesPart takes = {});
  const ParameterSlab& slab() const { return slab_; }

 private:
  // Applies the rule to slab().values(), given slab().gradients(). Called for finite gradients only.
  virtual void update(const OptimizerStep& step) = 0;

  const ParameterSlab& slab_;
  double clip_;
  struct StateSlab {
    std::string prefix;
    Tensor values;
    TakesPart takes;
  };
  std::vector<StateSlab> state_;
};

// Makes the optimizer of a slab, or of a part of one.
using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const ParameterSlab&)>;

}  // namespace tapeformer
