// The inputs that an op keeps for its backward.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

class Tape;

// Holds a tensor, or only a reference to it, if the tensor is the output of an op that can cheaply compute it again (a
// normalisation, an activation). Then the output need not be kept between forward and backward.
class Saved {
 public:
  Saved() = default;  // holds nothing
  explicit Saved(Tensor tensor) : tensor_(std::move(tensor)) {}
  Saved(const Tape& tape, int id) : tape_(&tape), id_(id) {}

  // Returns the tensor, during backward. A recomputed tensor has the same bits as the original, is contiguous, and
  // lives as long as the caller holds it. Throws Error if the values from which it is computed were written in place
  // since.
  Tensor get() const;

 private:
  Tensor tensor_;
  const Tape* tape_ = nullptr;
  int id_ = -1;  // the number of the value on that tape
};

}  // namespace tapeformer
