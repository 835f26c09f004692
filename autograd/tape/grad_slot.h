// Where a backward writes the gradient of one of its op's inputs.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

class Tape;

// The gradient of one value while it is gathered from the ops that used the value.
struct GradCell {
  Tensor gradient;
  bool written = false;
  // The memory was given beforehand (a parameter's part of the gradient slab): never exchanged for another tensor.
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
  GradSlot() = default;  // not needed
  // `tape` and `id` of a value on a tape; null for a parameter.
  GradSlot(GradCell* cell, const Dims& sizes, DType dtype, Tape* tape, int id)
      : cell_(cell), sizes_(sizes), dtype_(dtype), tape_(tape), id_(id) {}

  // Whether anybody wants this gradient; a backward skips the work otherwise, and must not call the rest.
  bool needed() const { return cell_ != nullptr; }

  // A contiguous destination of the input's sizes, which the caller writes.
  GradTarget target();
  // The same for kernels that take strides: where the value is a view, this is the same view of the gradient of what
  // it views, so that no backward of a view has to copy.
  GradTarget strided_target();
  // Hands over a gradient that is a tensor already: kept without a copy when it is the first.
  void accumulate(const Tensor& gradient);

  // For the backward of views: uninitialised memory that is to become this gradient, of which a view is lent to the
  // gradient of the view; the view's backward hands it back by accumulate(). Undefined when something was written.
  Tensor lend_place();

 private:
  GradCell* cell_ = nullptr;
  Dims sizes_;
  DType dtype_ = DType::f32;
  Tape* tape_ = nullptr;
  int id_ = -1;
};

}  // namespace tapeformer
