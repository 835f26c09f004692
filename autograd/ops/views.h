// Views (views.cpp), which share the storage of x. They throw Error if sizes or axes do not fit.
#pragma once

#include <span>
#include <vector>

#include "autograd/tape/variable.h"

namespace tapeformer {

Variable transpose(const Variable& x, int a, int b);
Variable permute(const Variable& x, const Dims& order);
Variable slice(const Variable& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
Variable expand(const Variable& x, const Dims& sizes);
// Returns a copy if the layout of x does not allow a view. One size may be -1.
Variable reshape(const Variable& x, const Dims& sizes);
// split() returns views of the given sizes along an axis. concat() joins parts along an axis into a copy.
std::vector<Variable> split(const Variable& x, std::span<const std::int64_t> sizes, int axis);
Variable concat(std::span<const Variable> parts, int axis);

}  // namespace tapeformer
