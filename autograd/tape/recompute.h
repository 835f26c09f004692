// Gradient checkpointing (Chen et al. 2016): backward computes values again instead of keeping them, which saves memory
// and costs time.
#pragma once

#include <functional>

#include "autograd/tape/variable.h"

namespace tapeformer {

// Returns f(x). On a tape with options.recompute, only x and the result are kept, not the values in between. When
// backward reaches this op, it runs f a second time with the same random numbers, records its ops and continues through
// them. So every gradient has the same bits as without recomputation, even if f shares values with the rest of the
// tape. The peak of memory is that of one f, and f costs one more forward.
//
// f is kept until backward and must do the same in both runs. It must capture by value everything that may not outlive
// the tape. It may capture variables of the tape; gradients flow to them. Only the result of f may be used outside: an
// op outside that takes another variable of f throws Error. Calls may be nested.
Variable recompute(std::function<Variable(const Variable&)> f, const Variable& x);

}  // namespace tapeformer
