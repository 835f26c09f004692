// The key of weight decay, and the parameters that decay.
#pragma once

#include <vector>

#include "autograd/kernels/optim/decay_parts.h"
#include "core/keys.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {

// Returns the key weight_decay. Its default -1 stands for `default_decay`, which each optimizer chooses.
Key weight_decay_key(double default_decay);

// Divides the slab into parts, each with its weight decay and learning-rate factor. As in GPT-2 and nanoGPT, parameters
// with several axes have this weight decay, and vectors (biases and norms) have none.
std::vector<kernels::DecayPart> decay_matrices(const ParameterSlab& slab, double weight_decay);

}  // namespace tapeformer
