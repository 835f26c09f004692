// The base of all layers and models: named parameters and submodules in the order of their registration.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tape/variable.h"
#include "nn/formats/safetensors.h"
#include "nn/module/init.h"
#include "nn/module/module_hooks.h"
#include "nn/module/parameter_role.h"

namespace tapeformer {

struct NamedParameter {
  std::string name;  // the path from the model: "blocks.0.attention.qkv.weight"
  Variable variable;
  Init init;
  ParameterRole role;
};

// While an object lives, the modules that its thread makes have parameters with shapes and without memory: enough to
// count them, whatever their size.
class ShapesOnly {
 public:
  ShapesOnly();
  ~ShapesOnly();
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;
  static bool active();
};

// While an object lives, the matrices of the modules that its thread makes are bf16: half of the memory, for models
// that are only read.
class Bf16Weights {
 public:
  explicit Bf16Weights(bool on = true);
  ~Bf16Weights();
  Bf16Weights(const Bf16Weights&) = delete;
  Bf16Weights& operator=(const Bf16Weights&) = delete;

 private:
  bool before_;
};

struct NamedModule {
  std::string name;  // the path from the model: "blocks.0.attention"; empty for the model itself
  const Module* module;
};

// A module's members are its submodules and its parameters' Variables; its constructor registers each once.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Every parameter, depth first in registration order. A tied weight appears once, under its first name.
  std::vector<NamedParameter> named_parameters() const;
  // This module and all in it, depth first in registration order. A module that was registered without a name has the
  // name of the one around it.
  std::vector<NamedModule> named_modules() const;
  // The first of them with this name. Throws Error, naming the nearest one, when there is none.
  const Module& module(std::string_view name) const;
  // The elements of all parameters whose names begin with the prefix.
  std::int64_t parameter_count(std::string_view prefix = "") const;

  // Fills every parameter by its Init. The values depend on the seed and on the parameter's place in the order.
  void initialize_parameters(std::uint64_t seed) const;
  void zero_grad() const;

  // The parameters' tensors by name, sharing their memory.
  std::map<std::string, Tensor> state_dict() const;
  // Copies values in. Throws Error, changing nothing, when a name is missing or unknown, or a shape or dtype differs.
  void load_state_dict(const std::map<std::string, Tensor>& state) const;
  // The same from a file, each tensor straight into its place; f32 is rounded where the module's own weights are bf16.
  void load_state_dict(const SafetensorsFile& file) const;

  // Calls the hook with the output of every forward pass from now on. What it returns replaces the output and must have
  // its sizes, its dtype and its tape; an undefined Variable leaves it as it is. A recurrent layer's output are its
  // states h (T, B, dim); a model's are its features, of a recurrent one (T, B, F). On a tape of options.recompute it
  // is called again in backward. Hooks are called in the order of their registration.
  //
  // Throws Error for a module that has no output of its own.
  HookHandle register_forward_hook(ForwardHook hook) const;
  // Calls the hook with the gradient of the output in every backward pass of a forward pass from now on. What it
  // returns replaces the gradient, as hook_gradient() has it. It sees the output that forward hooks have made. The
  // module must live until backward.
  //
  // PyTorch gives its hook the gradients of inputs and outputs and lets it replace those of the inputs: hook the module
  // before this one for that.
  HookHandle register_full_backward_hook(BackwardHook hook) const;
  bool has_hooks() const { return hooks_ && !hooks_->empty(); }
  // Registering a hook is an error from now on: "WHY". For a module whose forward is never called, since another one's
  // op does its work.
  void refuse_hooks(std::string why) { no_hooks_ = std::move(why); }

  // How a forward pass computes its output: body() returns it, and hooks see it. Without hooks this costs a branch. A
  // forward that does not use it has no hooks.
  template <class Body>
  Variable call(const Body& body) const {
    if (!hooks_ && !detail::running_modules) return body();
    const detail::ModuleScope scope(*this);
    return after_hooks(body());
  }

 protected:
  // A parameter with more axes than one has to say what it is.
  Variable register_parameter(std::string name, const Dims& sizes, DType dtype, const Init& init,
                              const ParameterRole& role = ParameterKind::vector);
  // A parameter (rows, columns) that only linear(), feed_forward() and embedding() read.
  Variable register_matrix(std::string name, const Dims& sizes, DType dtype, const Init& init,
                           const ParameterRole& role = ParameterKind::matrix);
  // A second name for a parameter of another module.
  void register_tied(std::string name, const Variable& parameter);
  // Without a name, the module's parameters are named as if they were this one's own.
  void register_module(std::string name, Module& module);

 private:
  void collect(const std::string& prefix, std::vector<NamedParameter>& into) const;
  void collect(const std::string& name, std::vector<NamedModule>& into) const;
  Variable after_hooks(Variable output) const;
  detail::ModuleHooks& hooks(const char* what) const;

  struct Entry {
    std::string name;
    Variable parameter;
    Init init;
    ParameterRole role;
    Module* module;  // null for a parameter
  };
  std::vector<Entry> entries_;
  mutable std::shared_ptr<detail::ModuleHooks> hooks_;  // null until the first one
  std::string no_hooks_;
};

}  // namespace tapeformer
