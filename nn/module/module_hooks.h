// Hooks: functions that receive, and may replace, the outputs of modules and their gradients.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "autograd/tape/variable.h"

namespace tapeformer {

class Module;

// See Module::register_forward_hook() and Module::register_full_backward_hook().
using ForwardHook = std::function<Variable(const Module& module, const Variable& output)>;
using BackwardHook = std::function<Tensor(const Module& module, const Tensor& gradient)>;

namespace detail {

struct ModuleHooks {
  std::map<int, ForwardHook> forward;  // the keys are in the order of registration
  std::map<int, BackwardHook> backward;
  int registered = 0;
  bool empty() const { return forward.empty() && backward.empty(); }
};

// The modules whose forward is running on this thread, the outermost first; null unless a RunningModules exists.
extern constinit thread_local std::vector<const Module*>* running_modules;

// Marks a module as running while the object lives.
class ModuleScope {
 public:
  explicit ModuleScope(const Module& module) : modules_(running_modules) {
    if (modules_) modules_->push_back(&module);
  }
  ~ModuleScope() {
    if (modules_) modules_->pop_back();
  }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  std::vector<const Module*>* modules_;
};

}  // namespace detail

// The handle of a registered hook. remove(), or the destructor of the handle, removes the hook. The module may be
// destroyed before the handle.
class [[nodiscard]] HookHandle {
 public:
  HookHandle() = default;  // a handle without a hook
  HookHandle(const std::shared_ptr<detail::ModuleHooks>& hooks, int number) : hooks_(hooks), number_(number) {}
  HookHandle(HookHandle&& other) noexcept { swap(other); }
  HookHandle& operator=(HookHandle&& other) noexcept {
    HookHandle taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~HookHandle() { remove(); }

  void remove();

 private:
  void swap(HookHandle& other) noexcept {
    hooks_.swap(other.hooks_);
    std::swap(number_, other.number_);
  }

  std::weak_ptr<detail::ModuleHooks> hooks_;
  int number_ = 0;
};

// While an object of this class lives, it records the modules whose forward is running on its thread.
class RunningModules {
 public:
  RunningModules();
  ~RunningModules();
  RunningModules(const RunningModules&) = delete;
  RunningModules& operator=(const RunningModules&) = delete;
  // Returns the innermost running module, or null.
  const Module* innermost() const { return modules_.empty() ? nullptr : modules_.back(); }

 private:
  std::vector<const Module*> modules_;
  std::vector<const Module*>* previous_;
};

}  // namespace tapeformer
