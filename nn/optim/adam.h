// Private to this folder: Adam with both forms of weight decay. The formulas stand in autograd/kernels/optim/adamw.h.
#pragma once

#include "nn/optim/optimizers.h"
#include "nn/optim/weight_decay.h"

namespace tapeformer {

enum class AdamDecay { decoupled, l2 };

// The keys that the constructor reads: beta1, beta2, eps, and weight_decay with this default.
std::vector<Key> adam_keys(double weight_decay);

class Adam : public Optimizer {
 public:
  Adam(const ParameterSlab& slab, const KeyValues& options, AdamDecay decay);

 private:
  void update(const OptimizerStep& step) override;

  double beta1_, beta2_, eps_;
  AdamDecay decay_;
  std::vector<kernels::DecayPart> parts_;
  Tensor m_, v_;  // the running means of the gradients and of their squares, from zero
};

}  // namespace tapeformer
