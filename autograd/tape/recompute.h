// Memory for time: values that are computed again when backward needs them (gradient checkpointing, Chen et al. 2016).
#pragma once

#include <functional>

#include "autograd/tape/variable.h"

namespace tapeformer {

// f(x). On a tape of options.recompute nothing inside of f is kept but x: backward, when it comes to this place, runs f
// a second time, with the same random numbers, puts its ops on the tape and goes on through them. So every gradient has
// the same bits as without, whatever f shares with the rest of the tape; the peak of memory is that of one f, and f
// costs one more forward.
//
// f is kept until backward and must do the same in both runs: what it needs it captures by value (other variables of
// the tape too; their gradients flow), or it must outlive the tape (modules). Only f's result may leave it: a variable
// from inside throws Error when an op outside takes it. Recomputed parts may be nested.
Variable recompute(std::function<Variable(const Variable&)> f, const Variable& x);

}  // namespace tapeformer
