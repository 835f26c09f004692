// Reductions (reductions.cpp). The axis counts from the end when negative; it is dropped unless `keep`.
#pragma once

#include "autograd/tape/variable.h"

namespace tapeformer {

Variable sum(const Variable& x, int axis, bool keep = false);
Variable sum(const Variable& x);  // over all elements, to a scalar
Variable mean(const Variable& x, int axis, bool keep = false);
Variable mean(const Variable& x);
Variable max(const Variable& x, int axis, bool keep = false);  // the gradient goes to the first maximum

}  // namespace tapeformer
