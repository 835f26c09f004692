// Helpers with which ops call kernels on tensors.
#pragma once

#include "autograd/tape/record.h"

namespace tapeformer {

// Calls kernel(y, x, n) on contiguous arrays of x's dtype; returns y, which has x's sizes. Throws Error naming the op
// if x is neither f32 nor f64.
template <class Kernel>
Tensor map(const char* op, const Tensor& x, Kernel&& kernel) {
  check(is_floating(x.dtype()), op, ": expected f32 or f64, got ", x.dtype());
  const Tensor source = x.contiguous();
  const Tensor y = Tensor::empty(x.sizes(), x.dtype());
  dispatch_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernel(y.data<T>(), source.data<T>(), y.numel());
  });
  return y;
}

// Calls write(dx, beta) on the slot's contiguous memory if the gradient is needed.
template <class Write>
void write_gradient(GradSlot& slot, Write&& write) {
  if (!slot.needed()) return;
  const GradTarget target = slot.target();
  dispatch_floating(target.tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    write(target.tensor.data<T>(), static_cast<T>(target.beta));
  });
}

// Returns the number of rows of x, which has at least one axis: the product of all its axes but the last. The number of
// elements does not tell it where rows are empty.
inline std::int64_t row_count(const Tensor& x) {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < x.rank(); ++axis) rows *= x.size(axis);
  return rows;
}

// Returns the slot's target, or one without a tensor if the gradient is not needed.
inline GradTarget target_or_none(GradSlot& slot) { return slot.needed() ? slot.target() : GradTarget{{}, 0}; }

// Returns the data of a tensor, or null if it is undefined.
template <class T>
T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

}  // namespace tapeformer
