// Gradient checkpointing (Chen et al. 2016): values are computed again in backward instead of being kept, which saves
// memory and costs time.
#pragma once

#include <functional>

#include "autograd/tape/variable.h"

namespace tapeformer {

// Returns f(x). On a tape of options.recompute, of all that f computes only the result is kept, and x. When backward
// reaches this op, it runs f a second time with the same random numbers, records its ops and goes on through them. So
// every gradient has the same bits as without recomputation, even where f shares values with the rest of the tape. The
// peak of memory is that of one f, and f costs one more forward.
//
// f is kept until backward and must do the same in both runs. What it needs it captures by value (also variables of the
// tape; gradients flow to them), or that must outlive the tape (modules). Only the result of f may leave it: an op
// outside that takes a variable from inside throws Error. Recomputed parts may be nested.
Variable recompute(std::function<Variable(const Variable&)> f, const Variable& x);

}  // namespace tapeformer
