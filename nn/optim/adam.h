// Private to this folder: Adam with both forms of weight decay. The formulas stand in autograd/kernels/optim/adamw.h.
#pragma once

#include "nn/optim/optimizers.h"
#include "nn/optim/weight_decay.h"

namespace tapeformer {

enum class AdamDecay { decoupled, l2 };

class Adam : public Optimizer {
 public:
  Adam(const ParameterSlab& slab, const OptimizerOptions& options, AdamDecay decay);

 private:
  void update(const OptimizerStep& step) override;

  OptimizerOptions options_;
  AdamDecay decay_;
  std::vector<kernels::DecayPart> parts_;
  Tensor m_, v_;  // the running means of the gradients and of their squares, from zero
};

}  // namespace tapeformer
