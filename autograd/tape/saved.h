// What an op keeps of its inputs for its backward.
#pragma once

#include "autograd/tensor/tensor.h"

namespace tapeformer {

class Tape;

// Holds a tensor, or, where the tensor is the output of an op that can cheaply compute it again (a normalisation, an
// activation), only says which: then nobody needs to keep the output between forward and backward.
class Saved {
 public:
  Saved() = default;  // nothing
  explicit Saved(Tensor tensor) : tensor_(std::move(tensor)) {}
  Saved(const Tape& tape, int id) : tape_(&tape), id_(id) {}

  // The tensor, during backward. A recomputed one has the bits of the first, is contiguous, and lives as long as the
  // caller holds it. Throws Error when what it is computed from was written in place since.
  Tensor get() const;

 private:
  Tensor tensor_;
  const Tape* tape_ = nullptr;
  int id_ = -1;  // on that tape
};

}  // namespace tapeformer
