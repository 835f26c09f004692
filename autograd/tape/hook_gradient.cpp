#include "autograd/tape/hook_gradient.h"

#include <utility>

#include "autograd/tape/record.h"

namespace tapeformer {
namespace {

// y = x;  dx = hook(dy)
struct HookGradient {
  static constexpr const char* kName = "hook_gradient";
  GradientHook hook;
  Tensor forward(OpContext&, const Tensor& x) { return x; }
  void backward(const Tensor& dy, GradSlot& dx) {
    const Tensor changed = hook(dy);
    check(!changed.defined() || (changed.sizes() == dy.sizes() && changed.dtype() == dy.dtype()),
          "gradient hook: expected a gradient ", dy.sizes(), " ", dy.dtype(), ", got ",
          changed.defined() ? str_cat(changed.sizes(), " ", changed.dtype()) : "");
    if (dx.needed()) dx.accumulate(changed.defined() ? changed : dy);
  }
};

}  // namespace

Variable hook_gradient(const Variable& x, GradientHook hook) {
  const Tape& tape = common_tape(HookGradient::kName, {&x});
  if (!tape.options().record || !x.requires_grad()) return x;
  return record(HookGradient{std::move(hook)}, x);
}

}  // namespace tapeformer
