// Adam and AdamW on the parameter slab.
#pragma once

#include "autograd/kernels/adamw.h"
#include "nn/formats/safetensors.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {

struct OptimizerSpec {
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;
  double weight_decay = 0;  // decoupled, on matrices only (Loshchilov & Hutter 2019); 0: plain Adam
  double clip = 0;          // the most that the gradient's global norm may be; 0: no clipping
};

// m and v begin at zero. The formulas stand in autograd/kernels/adamw.h.
class AdamW {
 public:
  // Keeps a reference to the slab.
  AdamW(const ParameterSlab& slab, const OptimizerSpec& spec);

  // One update by the gathered gradients; `step` counts from 1. Returns the global norm before clipping. When the norm
  // is not finite nothing is updated.
  double update(double lr, std::int64_t step);

  // m.NAME and v.NAME for every parameter, sharing memory.
  NamedTensors state() const;
  // Throws Error, changing nothing, when a name is missing or a shape differs.
  void load_state(const std::map<std::string, Tensor>& state);

 private:
  const ParameterSlab& slab_;
  OptimizerSpec spec_;
  std::vector<kernels::AdamWPart> decay_;  // of the whole slab
  Tensor m_, v_;
};

}  // namespace tapeformer
