// Hooks on the gradient of a value (torch.Tensor.register_hook).
#pragma once

#include <functional>

#include "autograd/tape/variable.h"

namespace tapeformer {

// Receives the gradient of a value. The tensor that it returns replaces the gradient and must have the same sizes and
// dtype; an undefined tensor keeps the gradient. The hook must not write to the gradient, which may be a view and may
// be read by others.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;

// Returns a value equal to x. When backward has the complete gradient of this value, it calls the hook and passes the
// hook's result on to x. If no gradient will flow, the function returns x itself and never calls the hook.
Variable hook_gradient(const Variable& x, GradientHook hook);

}  // namespace tapeformer
