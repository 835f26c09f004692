// What most ops need between tensors and kernels.
#pragma once

#include "autograd/tape/record.h"

namespace tapeformer {

// Calls kernel(y, x, n) on contiguous arrays of x's dtype; returns y, of x's sizes. Throws Error naming the op when x
// holds no floating-point numbers.
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

// Calls write(dx, beta) on the slot's contiguous memory, if the gradient is wanted.
template <class Write>
void write_gradient(GradSlot& slot, Write&& write) {
  if (!slot.needed()) return;
  const GradTarget target = slot.target();
  dispatch_floating(target.tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    write(target.tensor.data<T>(), static_cast<T>(target.beta));
  });
}

// The slot's target, or one without a tensor when the gradient is not wanted.
inline GradTarget target_or_none(GradSlot& slot) { return slot.needed() ? slot.target() : GradTarget{{}, 0}; }

// The data of a tensor, or null when it is undefined.
template <class T>
T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

}  // namespace tapeformer
