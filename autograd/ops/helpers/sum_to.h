// Sums over axes, for the gradients of broadcasts.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

// Sums x over the axes along which an expand from `sizes` to x.sizes() repeated elements.
Tensor sum_to(const Tensor& x, const Dims& sizes);

// Sums x over one axis, which is dropped.
Tensor sum_axis(const Tensor& x, int axis);

}  // namespace tapeformer
