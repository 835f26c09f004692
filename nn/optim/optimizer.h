// The interface of optimizers: they update the parameters in a slab, and have a state that checkpoints store.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autograd/tape/tape.h"
#include "nn/formats/safetensors.h"
#include "nn/optim/moment_slab.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {

// What an update rule needs to know about a step.
struct OptimizerStep {
  double lr;
  std::int64_t step;       // counted from 1
  double gradient_scale;   // the rule multiplies every gradient by it; below 1 if the gradient is clipped
  std::uint64_t seed = 0;  // for rounding a state of fewer bits than f32 at random
};

// The base class of all optimizers. It clips gradients and keeps the state by name; a derived class adds its state
// slabs in its constructor and defines update().
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates the parameters with the gradients in the slab. `step` counts from 1; throws Error for one below. Returns
  // the global norm of the gradients before clipping. If the norm is not finite, nothing is updated.
  double step(double lr, std::int64_t step);
  // The two halves of a step: gradient_norm() completes the gradients and returns their global norm, apply() makes the
  // update.
  virtual double gradient_norm();
  void apply(const OptimizerStep& step);
  // The two halves of apply(), for whoever changes the parameters between them: the update, and the moving average.
  void apply_update(const OptimizerStep& step);
  void add_to_average(std::int64_t step);
  // Returns the step for this learning rate, whose gradient_scale clips gradients of this global norm.
  OptimizerStep clipped(double lr, std::int64_t step, double norm) const {
    return {.lr = lr, .step = step, .gradient_scale = clip_ > 0 && norm > clip_ ? clip_ / norm : 1};
  }
  // Returns the observer for the tape of the last backward before a step, through which the optimizer can use gradients
  // while backward is still running. Null if the optimizer does not need this.
  virtual const GradientObserver* gradient_observer() { return nullptr; }

  // From the next step on, keeps an exponential moving average e of the parameters θ in the state, under the prefix
  // kMovingAverage. After step t: e = d·e + (1 − d)·θ with d = min(decay, 1 − 1/t), so that e is the mean of all steps
  // until there are 1/(1 − decay) of them, and the initial values are not part of it. While 1 − d is below 0.00005,
  // only every k-th step counts, for k = ⌊0.0001/(1 − d)⌋ steps: e = d^k·e + (1 − d^k)·θ. The slab's buffers are
  // averaged in the same way, since running statistics belong to the weights. Call it before state(), once.
  void keep_moving_average(double decay);
  static constexpr std::string_view kMovingAverage = "ema";

  // Returns the sum of the squares of all gradients in the slab.
  double squared_norm() const;

  // Returns a tensor PREFIX.NAME for every state slab and parameter, which shares the slab's memory. A moment in int8
  // has a second one, PREFIX_scale.NAME, with one number for each block.
  virtual NamedTensors state() const;
  // Copies values into the state. Throws Error, without any change, if a name is missing or unknown, or if a shape or
  // dtype differs.
  void load_state(const std::map<std::string, Tensor>& state);
  // Reads each tensor from a file directly into the state. A file of an older version has no averages of buffers: they
  // begin with the next step.
  void load_state(const SafetensorsFile& file);

 protected:
  // Keeps a reference to the slab. `clip` is the largest global norm of the gradients; 0: no clipping.
  Optimizer(const ParameterSlab& slab, double clip);

  using TakesPart = std::function<bool(const ParameterSlab::Part&)>;
  // Returns a new slab of zeros that belongs to the state and holds all parameters, or only those that `takes` accepts
  // if it is given.
  Tensor add_state(const std::string& prefix, TakesPart takes = {});
  // Returns a new moment, zero at first, in the given format, of all parameters or of those that `takes` accepts.
  // Throws Error if the format is not f32 and the slab is f64, or cuts a parameter within a block.
  MomentSlab add_moment(const std::string& prefix, StateFormat format, bool has_sign, const TakesPart& takes = {});
  // Returns what the kernels need to know of a moment for this step, beside its memory.
  kernels::StateLayout layout(const MomentSlab& moment, const OptimizerStep& step) const;
  const ParameterSlab& slab() const { return slab_; }

 private:
  // Applies the rule to slab().values() with slab().gradients(). Called only if the gradients are finite.
  virtual void update(const OptimizerStep& step) = 0;

  // Returns a new state slab of zeros with one number for `elements` (1, or a block of them) elements of a parameter.
  Tensor add_slab(const std::string& prefix, DType dtype, std::int64_t elements, TakesPart takes);
  const ParameterSlab& slab_;
  double clip_;
  double average_decay_ = 0;
  Tensor average_;                // undefined without a moving average
  NamedTensors buffer_averages_;  // of slab().buffers(), in their order
  bool buffers_begin_ = false;    // the loaded state has no averages of buffers
  struct StateSlab {
    std::string prefix;
    Tensor values;
    TakesPart takes;
    std::int64_t elements;  // how many elements of a parameter share one number of this state
    bool has(const ParameterSlab::Part& part) const { return !takes || takes(part); }
    // count() is how many numbers the state has for a part of `size` elements; places() is how many the slab reserves
    // for it, with padding.
    std::int64_t count(std::int64_t size) const { return (size + elements - 1) / elements; }
    std::int64_t places(std::int64_t size) const { return elements == 1 ? ParameterSlab::padded(size) : count(size); }
  };
  std::vector<StateSlab> state_;
};

// Makes the optimizer of a slab, or of a part of a slab.
using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const ParameterSlab&)>;

}  // namespace tapeformer
