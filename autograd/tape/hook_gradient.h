// A look at the gradient of a value on its way back (torch.Tensor.register_hook).
#pragma once

#include <functional>

#include "autograd/tape/variable.h"

namespace tapeformer {

// Is given the gradient of a value. What it returns replaces the gradient, and must have its sizes and dtype; an
// undefined tensor leaves it as it is. The gradient may be a view, and others may read it: it must not be written to.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;

// Returns x. When backward has gathered the gradient of what is computed from the result, it calls the hook, and x gets
// what the hook returns. Where no gradient will flow, this is x itself and the hook is never called.
Variable hook_gradient(const Variable& x, GradientHook hook);

}  // namespace tapeformer
