// Weight decay: its key, and which parameters decay.
#pragma once

#include <vector>

#include "autograd/kernels/optim/decay_parts.h"
#include "core/keys.h"
#include "nn/optim/parameter_slab.h"

namespace tapeformer {

// The key weight_decay, whose default -1 stands for the optimizer's own.
Key weight_decay_key(double own);

// The whole slab, with this weight decay for what has two axes and none for vectors (biases and norms), as GPT-2 and
// nanoGPT do; and with the rates of its parts.
std::vector<kernels::DecayPart> decay_matrices(const ParameterSlab& slab, double weight_decay);

}  // namespace tapeformer
