// Which parameters decay.
#pragma once

#include <vector>

#include "autograd/kernels/optim/decay_parts.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {

// The whole slab, with this weight decay for matrices and none for vectors (biases and norms), as GPT-2 and nanoGPT do;
// and with the rates of its parts.
std::vector<kernels::DecayPart> decay_matrices(const ParameterSlab& slab, double weight_decay);

}  // namespace tapeformer
