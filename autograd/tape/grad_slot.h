// Where a backward writes the gradient of one of its op's inputs.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

// The gradient of one value, while the ops that used the value add to it.
struct GradCell {
  Tensor gradient;
  bool written = false;
  // The memory is a parameter's part of the gradient slab: it is never replaced by another tensor.
  bool fixed_place = false;
};

// A destination for a kernel: gradient = beta·gradient + what the kernel computes. With beta 0 the memory is
// uninitialised and every element must be written.
struct GradTarget {
  Tensor tensor;
  double beta;
};

// The first writer of a gradient gets uninitialised memory and beta 0, later ones beta 1, so nothing is zero-filled
// and matrix products accumulate in place.
class GradSlot {
 public:
  GradSlot() = default;  // for a gradient that nobody needs
  GradSlot(GradCell& cell, const Dims& sizes, DType dtype) : cell_(&cell), sizes_(sizes), dtype_(dtype) {}

  // Whether this gradient is wanted. If not, a backward skips the work and calls none of the functions below.
  bool needed() const { return cell_ != nullptr; }

  // A contiguous destination of the input's sizes, which the caller writes.
  GradTarget target();
  // Adds a gradient that is a tensor already. The first one is kept without a copy.
  void accumulate(const Tensor& gradient);

 private:
  GradCell* cell_ = nullptr;
  Dims sizes_;
  DType dtype_ = DType::f32;
};

}  // namespace tapeformer
