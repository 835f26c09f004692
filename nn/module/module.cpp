#include "nn/module/module.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/text/nearest_name.h"

namespace tapeformer {
namespace {

thread_local int shapes_only = 0;
thread_local WeightFormat weight_format = WeightFormat::f32;

// Throws Error unless the state has exactly these tensors, with their sizes and dtypes. `Value` is a Tensor or a
// SafetensorsFile::Entry, whose values are converted while they are read.
template <class Value>
void check_tensors(const NamedTensors& tensors, const std::map<std::string, Value>& state) {
  for (const auto& [name, expected] : tensors) {
    const auto found = state.find(name);
    check(found != state.end(), "load_state_dict: the parameter ", name, " is missing");
    const Value& got = found->second;
    const auto is_wide = [](DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; };
    const bool converts = std::is_same_v<Value, SafetensorsFile::Entry> && is_wide(got.dtype()) &&
                          (is_wide(expected.dtype()) || expected.dtype() == DType::q8_0);
    check(expected.sizes() == got.sizes() && (expected.dtype() == got.dtype() || converts), "load_state_dict: ", name,
          ": the model has ", expected.sizes(), " ", expected.dtype(), ", got ", got.sizes(), " ", got.dtype());
  }
  for (const auto& entry : state) {
    check(std::ranges::any_of(tensors, [&](const auto& tensor) { return tensor.first == entry.first; }),
          "load_state_dict: the model has no parameter ", entry.first);
  }
}

}  // namespace

ShapesOnly::ShapesOnly() { ++shapes_only; }
ShapesOnly::~ShapesOnly() { --shapes_only; }
bool ShapesOnly::active() { return shapes_only > 0; }

WeightFormatScope::WeightFormatScope(WeightFormat format) : previous_(std::exchange(weight_format, format)) {}
WeightFormatScope::~WeightFormatScope() { weight_format = previous_; }
WeightFormat WeightFormatScope::current() { return weight_format; }

const Variable& Module::add_entry(Entry entry) {
  check_name(entry.name);
  return entries_.emplace_back(std::move(entry)).parameter;
}

void Module::check_name(const std::string& name) const {
  const bool taken = std::ranges::count(entries_, name, &Entry::name) > 0 ||
                     std::ranges::any_of(buffers_, [&](const auto& buffer) { return buffer.first == name; });
  check(name.empty() || !taken, "module: ", name, " is registered twice");
}

Variable Module::register_matrix(std::string name, const Dims& sizes, DType dtype, const Init& init,
                                 const ParameterRole& role) {
  const bool has_blocks = weight_format == WeightFormat::q8_0 && sizes.back() % kernels::kQ8Block == 0;
  if (weight_format == WeightFormat::f32 || dtype != DType::f32 || (ShapesOnly::active() && has_blocks))
    return register_parameter(std::move(name), sizes, dtype, init, role);
  const DType held = has_blocks ? DType::q8_0 : DType::bf16;
  if (ShapesOnly::active()) return register_parameter(std::move(name), sizes, held, init, role);
  return add_entry({std::move(name), Variable::parameter(Tensor::empty(sizes, held)), init, role, nullptr});
}

Variable Module::register_parameter(std::string name, const Dims& sizes, DType dtype, const Init& init,
                                    const ParameterRole& role) {
  check((role.kind == ParameterKind::vector) == (sizes.rank() < 2), "register_parameter: ", name, " ", sizes,
        ": expected ", sizes.rank() < 2 ? "a vector" : "a matrix, an embedding or a head", ", got ",
        word_of(role.kind));
  const std::int64_t stacked = std::accumulate(role.heights.begin(), role.heights.end(), std::int64_t{0});
  check(role.heights.empty() || stacked == sizes[0], "register_parameter: ", name, " ", sizes,
        ": expected stacked matrices of as many rows, got ", stacked);
  const Tensor value = ShapesOnly::active() ? Tensor::scalar(0, dtype).expand(sizes) : Tensor::zeros(sizes, dtype);
  return add_entry({std::move(name), Variable::parameter(value), init, role, nullptr});
}

Tensor Module::register_buffer(std::string name, const Dims& sizes, DType dtype, double value) {
  check_name(name);
  return buffers_.emplace_back(std::move(name), Tensor::full(sizes, dtype, value)).second;
}

void Module::register_tied(std::string name, const Variable& parameter) {
  add_entry({std::move(name), parameter, {}, ParameterKind::matrix, nullptr});
}

void Module::register_module(std::string name, Module& module) {
  add_entry({std::move(name), {}, {}, ParameterKind::matrix, &module});
}

void Module::collect(const std::string& prefix, std::vector<NamedParameter>& into) const {
  for (const Entry& entry : entries_) {
    if (entry.module) {
      entry.module->collect(entry.name.empty() ? prefix : prefix + entry.name + ".", into);
    } else if (std::ranges::none_of(
                   into, [&](const NamedParameter& other) { return other.variable.same_parameter(entry.parameter); })) {
      into.push_back({prefix + entry.name, entry.parameter, entry.init, entry.role});
    }
  }
}

std::vector<NamedParameter> Module::named_parameters() const {
  std::vector<NamedParameter> parameters;
  collect("", parameters);
  return parameters;
}

void Module::collect(const std::string& name, std::vector<NamedModule>& into) const {
  into.push_back({name, this});
  for (const Entry& entry : entries_) {
    if (!entry.module) continue;
    const bool inner = !name.empty() && !entry.name.empty();
    entry.module->collect(name + (inner ? "." : "") + entry.name, into);
  }
}

std::vector<NamedModule> Module::named_modules() const {
  std::vector<NamedModule> modules;
  collect("", modules);
  return modules;
}

void Module::for_each_module(const std::function<void(const std::string& name, Module& module)>& f) {
  for (const NamedModule& named : named_modules()) f(named.name, const_cast<Module&>(*named.module));
}

void Module::remove_parameters(const std::vector<std::string>& names) {
  std::erase_if(entries_,
                [&](const Entry& entry) { return !entry.module && std::ranges::count(names, entry.name) > 0; });
}

const Module& Module::module(std::string_view name) const {
  std::vector<std::string_view> names;
  const std::vector<NamedModule> modules = named_modules();
  for (const NamedModule& named : modules) {
    if (named.name == name) return *named.module;
    if (!named.name.empty()) names.push_back(named.name);
  }
  fail("module: there is no ", name, names.empty() ? "" : str_cat("; did you mean ", nearest_name(name, names), "?"));
}

std::int64_t Module::parameter_count(std::string_view prefix) const {
  std::int64_t count = 0;
  for (const NamedParameter& parameter : named_parameters()) {
    if (parameter.name.starts_with(prefix)) count += parameter.variable.value().numel();
  }
  return count;
}

void Module::initialize_parameters(std::uint64_t seed) const {
  std::uint64_t stream = mix64(0x696e6974);  // separate streams for initial values
  for (const NamedParameter& parameter : named_parameters()) {
    initialize(parameter.variable.value(), parameter.init, RandomKey{.seed = seed, .stream = stream++});
  }
}

void Module::zero_grad() const {
  for (const NamedParameter& parameter : named_parameters()) parameter.variable.zero_grad();
}

void Module::collect(const std::string& prefix, NamedTensors& buffers) const {
  for (const auto& [name, tensor] : buffers_) buffers.emplace_back(prefix + name, tensor);
  for (const Entry& entry : entries_) {
    if (entry.module) entry.module->collect(entry.name.empty() ? prefix : prefix + entry.name + ".", buffers);
  }
}

NamedTensors Module::named_buffers() const {
  NamedTensors buffers;
  collect("", buffers);
  return buffers;
}

NamedTensors Module::named_tensors() const {
  NamedTensors tensors;
  for (const NamedParameter& parameter : named_parameters())
    tensors.emplace_back(parameter.name, parameter.variable.value());
  collect("", tensors);
  return tensors;
}

NamedTensors Module::values_of(bool learned) const {
  NamedTensors tensors;
  for (const NamedParameter& parameter : named_parameters()) {
    if (parameter.variable.requires_grad() == learned) tensors.emplace_back(parameter.name, parameter.variable.value());
  }
  return tensors;
}

NamedTensors Module::frozen_tensors() const { return values_of(/*learned=*/false); }

NamedTensors Module::learned_tensors() const {
  NamedTensors tensors = values_of(/*learned=*/true);
  collect("", tensors);
  return tensors;
}

std::map<std::string, Tensor> Module::state_dict() const {
  std::map<std::string, Tensor> state;
  for (auto& [name, tensor] : named_tensors()) state.emplace(name, tensor);
  return state;
}

void Module::load_state_dict(const std::map<std::string, Tensor>& state) const {
  const NamedTensors tensors = named_tensors();
  check_tensors(tensors, state);
  for (const auto& [name, tensor] : tensors) tensor.copy_from(state.at(name));
}

void Module::load_state_dict(const SafetensorsFile& file) const { load_tensors(named_tensors(), file); }

void Module::load_tensors(const NamedTensors& tensors, const SafetensorsFile& file, std::string_view unread) {
  auto entries = file.entries();
  if (!unread.empty()) {
    std::erase_if(entries, [&](const auto& entry) {
      const auto is_it = [&](const auto& tensor) { return tensor.first == entry.first; };
      return entry.first.starts_with(unread) && std::ranges::none_of(tensors, is_it);
    });
  }
  check_tensors(tensors, entries);
  for (const auto& [name, tensor] : tensors) file.read(name, tensor);
}

}  // namespace tapeformer
