// The base of all layers and models: named parameters and submodules in the order of their registration.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autograd/tape/variable.h"
#include "nn/formats/safetensors.h"
#include "nn/init.h"

namespace tapeformer {

struct NamedParameter {
  std::string name;  // the path from the model: "blocks.0.attention.qkv.weight"
  Variable variable;
  Init init;
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

// A module's members are its submodules and its parameters' Variables; its constructor registers each once.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Every parameter, depth first in registration order. A tied weight appears once, under its first name.
  std::vector<NamedParameter> named_parameters() const;
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

 protected:
  Variable register_parameter(std::string name, const Dims& sizes, DType dtype, const Init& init);
  // A parameter (rows, columns) that only linear(), feed_forward() and embedding() read.
  Variable register_matrix(std::string name, const Dims& sizes, DType dtype, const Init& init);
  // A second name for a parameter of another module.
  void register_tied(std::string name, const Variable& parameter);
  // Without a name, the module's parameters are named as if they were this one's own.
  void register_module(std::string name, Module& module);

 private:
  void collect(const std::string& prefix, std::vector<NamedParameter>& into) const;

  struct Entry {
    std::string name;
    Variable parameter;
    Init init;
    Module* module;  // null for a parameter
  };
  std::vector<Entry> entries_;
};

}  // namespace tapeformer
