// Checks weights and optimizer states for NaN and infinity before they are used or saved.
#pragma once

#include <cstdint>

#include "nn/optim/optimizer.h"

namespace tapeformer {

// Throws Error, naming the step, for the first weight or optimizer state that is not finite.
void require_finite_values(const ParameterSlab& slab, const Optimizer& optimizer, std::int64_t step);

}  // namespace tapeformer
