// Views (views.cpp): they share the storage of x. Sizes and axes that do not fit throw Error.
#pragma once

#include <span>
#include <vector>

#include "autograd/tape/variable.h"

namespace tapeformer {

Variable transpose(const Variable& x, int a, int b);
Variable permute(const Variable& x, const Dims& order);
Variable slice(const Variable& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
Variable expand(const Variable& x, const Dims& sizes);
// A copy where the layout of x does not allow a view. One size may be -1.
Variable reshape(const Variable& x, const Dims& sizes);
// Parts of the given sizes along an axis, as views; and the opposite, a copy.
std::vector<Variable> split(const Variable& x, std::span<const std::int64_t> sizes, int axis);
Variable concat(std::span<const Variable> parts, int axis);

}  // namespace tapeformer
