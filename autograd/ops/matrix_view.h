// Tensors as BLAS reads them.
#pragma once

#include "autograd/kernels/gemm.h"
#include "autograd/tensor/tensor.h"

namespace tapeformer {

// x, or a copy of it, such that its last two axes are a matrix that BLAS can read: one of their strides is 1 and the
// other at least the length of a row (or column).
Tensor readable_by_blas(const Tensor& x);

// The last two axes of such a tensor, read transposed if asked for.
template <class T>
kernels::MatrixView<T> matrix_view(const Tensor& x, bool transpose = false);

}  // namespace tapeformer
