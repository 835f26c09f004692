// The base class of all layers and models, with named parameters and submodules in the order of their registration.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tape/variable.h"
#include "core/keys.h"
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

// While an object of this class lives, the modules made by its thread have parameters with shapes but without memory,
// so that the parameters of a model of any size can be counted.
class ShapesOnly {
 public:
  ShapesOnly();
  ~ShapesOnly();
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;
  static bool active();
};

// The format of the matrices of a model that is only used for inference: 32, 16 or 8.5 bits for each number. With q8_0
// (kernels::Q8Rows), a matrix whose rows are not whole blocks has the format bf16.
enum class WeightFormat { f32, bf16, q8_0 };

// While an object of this class lives, the modules made by its thread have this format for the matrices that would be
// f32 (register_matrix()). Unless the format is f32, such modules are for inference only.
class WeightFormatScope {
 public:
  explicit WeightFormatScope(WeightFormat format);
  ~WeightFormatScope();
  // The format of the modules that this thread makes now.
  static WeightFormat current();
  WeightFormatScope(const WeightFormatScope&) = delete;
  WeightFormatScope& operator=(const WeightFormatScope&) = delete;

 private:
  WeightFormat previous_;
};

struct NamedModule {
  std::string name;  // the path from the model: "blocks.0.attention"; empty for the model itself
  const Module* module;
};

// A module has its submodules and the Variables of its parameters as members, and its constructor registers each once:
// a name that is taken is an Error.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Returns all parameters, depth first in registration order. A tied weight appears once, under its first name.
  std::vector<NamedParameter> named_parameters() const;
  // Returns this module and all modules in it, depth first in registration order. A module registered without a name
  // has the name of its parent.
  std::vector<NamedModule> named_modules() const;
  // Calls f with the name and the module of each of named_modules(); f may change the module.
  void for_each_module(const std::function<void(const std::string& name, Module& module)>& f);
  // Returns the first module with this name. If there is none, throws Error, which suggests the most similar name.
  const Module& module(std::string_view name) const;
  // Returns the number of elements of all parameters whose names begin with the prefix.
  std::int64_t parameter_count(std::string_view prefix = "") const;

  // Fills every parameter according to its Init. The values depend only on the seed and on the parameter's index in
  // named_parameters().
  void initialize_parameters(std::uint64_t seed) const;
  void zero_grad() const;

  // Returns the buffers: tensors that training changes by other means than gradients, such as running statistics.
  NamedTensors named_buffers() const;
  // Returns the values of all parameters, followed by the buffers: what a checkpoint stores of a module.
  NamedTensors named_tensors() const;

  // Return the values of the frozen parameters (Variable::freeze), and all other tensors of named_tensors().
  NamedTensors frozen_tensors() const;
  NamedTensors learned_tensors() const;

  // Returns named_tensors() as a map; the tensors share memory with the parameters and buffers.
  std::map<std::string, Tensor> state_dict() const;
  // Copies values into the parameters and buffers. Throws Error, without any change, if a name is missing or unknown,
  // or if a shape or dtype differs.
  void load_state_dict(const std::map<std::string, Tensor>& state) const;
  // Reads each tensor from a file directly into its parameter or buffer; f32 and bf16 are converted to the parameter's
  // format.
  void load_state_dict(const SafetensorsFile& file) const;
  // Reads only these tensors of the module. The file may have others if their names begin with `unread` (empty: it may
  // not).
  static void load_tensors(const NamedTensors& tensors, const SafetensorsFile& file, std::string_view unread = {});

  // Calls the hook with the output of every forward pass from now on. The Variable that the hook returns replaces the
  // output and must have the same sizes, dtype and tape; an undefined Variable keeps the output. The output of a
  // recurrent layer is its states h (T, B, dim); the output of a model is its features, (T, B, F) for a recurrent one.
  // On a tape with options.recompute the hook is called again in backward. Hooks are called in the order of their
  // registration.
  //
  // Throws Error for a module without an output of its own.
  HookHandle register_forward_hook(ForwardHook hook) const;
  // Calls the hook with the gradient of the output in the backward pass of every forward pass from now on. The tensor
  // that the hook returns replaces the gradient, as in hook_gradient(). The gradient is that of the output after all
  // forward hooks. The module must live until backward.
  //
  // PyTorch's hook receives the gradients of inputs and outputs and can replace those of the inputs. To do that here,
  // register a hook on the module before this one.
  HookHandle register_full_backward_hook(BackwardHook hook) const;
  bool has_hooks() const { return hooks_ && !hooks_->empty(); }
  // From now on, registering a hook throws Error with the message `why`. This is for modules whose forward is never
  // called because the op of another module does their work.
  void refuse_hooks(std::string why) { why_no_hooks_ = std::move(why); }

  // Returns the output of body() after the hooks have been called with it. Every forward pass that supports hooks uses
  // this. Without hooks it costs one branch.
  template <class Body>
  Variable call(const Body& body) const {
    if (!hooks_ && !detail::running_modules) return body();
    const detail::ModuleScope scope(*this);
    return after_hooks(body());
  }

 protected:
  // Registers a parameter. A parameter with more than one axis must give its role.
  Variable register_parameter(std::string name, const Dims& sizes, DType dtype, const Init& init,
                              const ParameterRole& role = ParameterKind::vector);
  // Registers a parameter (rows, columns) whose format is that of the WeightFormatScope. Only ops that multiply by its
  // transpose, such as linear(), feed_forward(), recurrent() and linear_cross_entropy(), and embedding() may read it:
  // other ops do not read q8_0.
  Variable register_matrix(std::string name, const Dims& sizes, DType dtype, const Init& init,
                           const ParameterRole& role = ParameterKind::matrix);
  // Registers a buffer and returns it, with each element equal to `value`. It has memory under ShapesOnly too.
  Tensor register_buffer(std::string name, const Dims& sizes, DType dtype, double value);
  // Registers a second name for a parameter of another module.
  void register_tied(std::string name, const Variable& parameter);
  // Removes parameters of this module by their names.
  void remove_parameters(const std::vector<std::string>& names);
  // Registers a submodule. If the name is empty, its parameters are named as if they belonged to this module.
  void register_module(std::string name, Module& module);

 private:
  void collect(const std::string& prefix, std::vector<NamedParameter>& into) const;
  void collect(const std::string& name, std::vector<NamedModule>& into) const;
  void collect(const std::string& prefix, NamedTensors& buffers) const;
  // Returns the values of the parameters that learn, or of those that are frozen.
  NamedTensors values_of(bool learned) const;
  Variable after_hooks(Variable output) const;
  detail::ModuleHooks& hooks(const char* what) const;

  struct Entry {
    std::string name;
    Variable parameter;
    Init init;
    ParameterRole role;
    Module* module;  // null for a parameter
  };
  const Variable& add_entry(Entry entry);
  void check_name(const std::string& name) const;  // throws Error if it is registered already
  std::vector<Entry> entries_;
  NamedTensors buffers_;                                // of this module alone
  mutable std::shared_ptr<detail::ModuleHooks> hooks_;  // null until the first hook is registered
  std::string why_no_hooks_;                            // empty: hooks are allowed
};

}  // namespace tapeformer

template <>
struct tapeformer::Words<tapeformer::WeightFormat> {
  using enum WeightFormat;
  static constexpr std::pair<WeightFormat, std::string_view> list[] = {{f32, "f32"}, {bf16, "bf16"}, {q8_0, "q8_0"}};
};
