// Holds all parameters of a model in one contiguous slab, and their gradients in another, so that clipping, the update
// and the norm need one loop each.
#pragma once

#include <functional>
#include <optional>

#include "nn/module/module.h"

namespace tapeformer {

// Returns the factor of the learning rate for the parameter with this name. A parameter with the factor 0 is not
// trained and belongs to no slab. An empty function means the factor 1 for all.
using ParameterRates = std::function<double(std::string_view name)>;

class ParameterSlab {
 public:
  struct Part {
    std::string name;          // of the parameter
    Variable variable;         // undefined in a slab made by part()
    std::int64_t begin, size;  // in elements, from the slab's start
    ParameterRole role;
    double rate;  // the factor of the learning rate (ParameterRates)
    Dims sizes;
    std::optional<std::int64_t> first = {};  // for a piece of a cut parameter: the index where it begins

    // Returns the name of this part in a state that has one number for `elements` elements: the parameter's name, or
    // NAME@FIRST for a piece of a cut parameter, where FIRST is the index of the piece's first number in the state of
    // the whole parameter.
    std::string state_name(std::int64_t elements = 1) const;
  };

  // Moves the parameters of the model that are trained, which neither have the rate 0 nor are frozen, into the slab
  // with their values. The model must live as long as the slab is used. Throws Error if the parameters have different
  // dtypes, or if there are none.
  explicit ParameterSlab(const Module& model, const ParameterRates& rates = {});

  const std::vector<Part>& parts() const { return parts_; }
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }
  // Returns the model's buffers (Module::named_buffers()), in the model's memory. A slab made by part() has none.
  const NamedTensors& buffers() const { return buffers_; }
  // Returns the index of this slab's first element in the slab of the whole model.
  std::int64_t offset() const { return offset_; }

  // Returns the range [begin, end) of this slab as a slab. Its values and gradients are in two given tensors of this
  // slab's size, which may be values() and gradients(). A piece of a parameter that the range cuts keeps the
  // parameter's name, role and rate, but has one axis. `begin` and `end` must be multiples of kAlignment.
  ParameterSlab part(std::int64_t begin, std::int64_t end, const Tensor& values, const Tensor& gradients) const;
  // Returns this slab with values and gradients in other memory, and with the same learning rate for all parameters.
  ParameterSlab at_one_rate(const Tensor& values, const Tensor& gradients) const;
  static constexpr std::int64_t kAlignment = 16;  // in elements: each parameter begins on a cache line

  // Returns the index in gradients() where this gradient of a parameter begins; nullopt if the tensor is not in the
  // slab, such as the gradient of a parameter that is not trained.
  std::optional<std::int64_t> gradient_offset(const Tensor& gradient) const;
  // Returns the number of elements that a parameter occupies in a slab, a multiple of kAlignment.
  static constexpr std::int64_t padded(std::int64_t elements) {
    return (elements + kAlignment - 1) / kAlignment * kAlignment;
  }

  void zero_grad() const;
  // Sets the gradients that no backward wrote to zero. Call it before reading gradients().
  void complete_gradients() const;

 private:
  ParameterSlab() = default;

  std::vector<Part> parts_;
  NamedTensors buffers_;
  Tensor values_, gradients_;
  std::int64_t offset_ = 0;
};

}  // namespace tapeformer
