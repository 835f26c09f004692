// Reductions (reductions.cpp). A negative axis counts from the end. The axis is dropped, or kept with size 1 if `keep`.
#pragma once

#include "autograd/tape/variable.h"

namespace tapeformer {

Variable sum(const Variable& x, int axis, bool keep = false);
Variable sum(const Variable& x);  // over all elements, to a scalar
Variable mean(const Variable& x, int axis, bool keep = false);
Variable mean(const Variable& x);
Variable max(const Variable& x, int axis, bool keep = false);  // the gradient goes to the first maximum

}  // namespace tapeformer
