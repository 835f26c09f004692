// Weights and optimizer states that blew up are found before they are used or saved.
#pragma once

#include <cstdint>

#include "nn/optim/optimizer.h"

namespace tapeformer {

// Throws Error, naming the step, for the first weights or optimizer's state that are not finite numbers.
void require_finite_values(const ParameterSlab& slab, const Optimizer& optimizer, std::int64_t step);

}  // namespace tapeformer
