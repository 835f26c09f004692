// The key of weight decay, and the parameters that decay.
#pragma once

#include <vector>

#include "autograd/kernels/optim/decay_parts.h"
#include "core/keys.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {

// Returns the key weight_decay. Its default -1 means `own`, the optimizer's default.
Key weight_decay_key(double own);

// Returns the parts of the whole slab with their rates. As in GPT-2 and nanoGPT, parameters with two axes have this
// weight decay, and vectors (biases and norms) have none.
std::vector<kernels::DecayPart> decay_matrices(const ParameterSlab& slab, double weight_decay);

}  // namespace tapeformer
