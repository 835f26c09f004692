// Adam with both forms of weight decay, private to this folder. With g = gradient_scale·grad:
//   m = β₁m + (1 − β₁)g;  v = β₂v + (1 − β₂)g²
//   w = w − lr·weight_decay·w − lr·(m/(1 − β₁^step)) / (√(v/(1 − β₂^step)) + ε)
// The L2 form adds weight_decay·w to g instead, and has no decay of w.
#pragma once

#include "nn/optim/optimizers.h"
#include "nn/optim/weight_decay.h"

namespace tapeformer {

enum class AdamDecay { decoupled, l2 };

// Returns the keys that the constructor reads: beta1, beta2, eps, and weight_decay with this default.
std::vector<Key> adam_keys(double weight_decay);

class Adam : public Optimizer {
 public:
  Adam(const ParameterSlab& slab, const KeyValues& options, AdamDecay decay);

 private:
  void update(const OptimizerStep& step) override;

  double beta1_, beta2_, eps_;
  AdamDecay decay_;
  std::vector<kernels::DecayPart> parts_;
  MomentSlab m_, v_;  // the moving averages of the gradients and of their squares
};

}  // namespace tapeformer
