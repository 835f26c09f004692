// The place where a backward writes the gradient of one input of its op.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

// The gradient of one value, to which the ops that used the value add.
struct GradCell {
  Tensor gradient;
  bool written = false;
  // If true, the memory is a parameter's part of the gradient slab and is never replaced by another tensor.
  bool fixed_place = false;
};

// The destination of a kernel: gradient = beta·gradient + the kernel's result. With beta 0 the memory is uninitialised,
// and the kernel must write every element.
struct GradTarget {
  Tensor tensor;
  double beta;
};

// The first writer of a gradient gets uninitialised memory and beta 0, later writers get beta 1. So nothing is filled
// with zeros, and matrix products accumulate in place.
class GradSlot {
 public:
  GradSlot() = default;  // for a gradient that nobody needs
  GradSlot(GradCell& cell, const Dims& sizes, DType dtype) : cell_(&cell), sizes_(sizes), dtype_(dtype) {}

  // Whether this gradient is needed. If not, a backward skips the work and calls none of the functions below.
  bool needed() const { return cell_ != nullptr; }

  // Returns a contiguous destination of the input's sizes, which the caller must write.
  GradTarget target();
  // Adds a gradient that the caller has as a tensor. The first one is kept without a copy.
  void accumulate(const Tensor& gradient);

 private:
  GradCell* cell_ = nullptr;
  Dims sizes_;
  DType dtype_ = DType::f32;
};

}  // namespace tapeformer
