// The sum that undoes a broadcast.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

// x summed over the axes that an expand from `sizes` to x.sizes() repeated.
Tensor sum_to(const Tensor& x, const Dims& sizes);

// x summed over one axis, which is dropped.
Tensor sum_axis(const Tensor& x, int axis);

}  // namespace tapeformer
