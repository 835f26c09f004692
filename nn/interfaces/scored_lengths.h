// The lengths of targets.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

// Returns i32 (B): the number of tokens of each row of targets (B, T) up to the last one that is scored. Padding, which
// follows, is not scored.
Tensor scored_lengths(const Tensor& targets);

}  // namespace tapeformer
