#include "nn/module/module_hooks.h"

#include "autograd/tape/hook_gradient.h"
#include "nn/module/module.h"

namespace tapeformer {

constinit thread_local std::vector<const Module*>* detail::running_modules = nullptr;

RunningModules::RunningModules() : previous_(std::exchange(detail::running_modules, &modules_)) {}
RunningModules::~RunningModules() { detail::running_modules = previous_; }

void HookHandle::remove() {
  if (const auto hooks = std::exchange(hooks_, {}).lock())
    hooks->forward.erase(number_), hooks->backward.erase(number_);
}

detail::ModuleHooks& Module::hooks(const char* what) const {
  check(why_no_hooks_.empty(), what, ": ", why_no_hooks_);
  if (!hooks_) hooks_ = std::make_shared<detail::ModuleHooks>();
  return *hooks_;
}

HookHandle Module::register_forward_hook(ForwardHook hook) const {
  detail::ModuleHooks& hooks = this->hooks("register_forward_hook");
  hooks.forward.emplace(++hooks.registered, std::move(hook));
  return {hooks_, hooks.registered};
}

HookHandle Module::register_full_backward_hook(BackwardHook hook) const {
  detail::ModuleHooks& hooks = this->hooks("register_full_backward_hook");
  hooks.backward.emplace(++hooks.registered, std::move(hook));
  return {hooks_, hooks.registered};
}

// The hooks are copied before they are called, because a hook may remove itself.
Variable Module::after_hooks(Variable output) const {
  if (!has_hooks()) return output;
  const auto forward = hooks_->forward;
  for (const auto& entry : forward) {
    const Variable changed = entry.second(*this, output);
    if (!changed.defined()) continue;
    check(changed.sizes() == output.sizes() && changed.dtype() == output.dtype() && changed.tape() == output.tape(),
          "forward hook: expected an output ", output.sizes(), " ", output.dtype(),
          " on the tape of the module's, got ", changed.sizes(), " ", changed.dtype(),
          changed.tape() == output.tape() ? "" : " on another tape");
    output = changed;
  }
  if (hooks_->backward.empty()) return output;
  return hook_gradient(output, [this, hooks = hooks_](const Tensor& gradient) {
    Tensor result;
    const auto backward = hooks->backward;
    for (const auto& entry : backward) {
      const Tensor changed = entry.second(*this, result.defined() ? result : gradient);
      if (changed.defined()) result = changed;
    }
    return result;
  });
}

}  // namespace tapeformer
