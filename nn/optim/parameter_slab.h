// A model's parameters and their gradients, each in one contiguous slab, so that clipping, the update and the norm are
// one loop each.
#pragma once

#include <functional>
#include <optional>

#include "nn/module/module.h"

namespace tapeformer {

// How fast a parameter of a name learns: what the learning rate is multiplied by for it. 0: it stays as it is, and
// belongs to no slab. Empty: all learn at the same rate.
using ParameterRates = std::function<double(std::string_view name)>;

class ParameterSlab {
 public:
  struct Part {
    std::string name;
    Variable variable;         // undefined in a part() of another slab
    std::int64_t begin, size;  // elements, from the slab's start
    ParameterRole role;
    double rate;  // ParameterRates
    Dims sizes;
  };

  // Moves the model's parameters that learn into the slab, keeping their values. The model must live as long as the
  // slab is used. Throws Error when the parameters have different dtypes, or there are none.
  explicit ParameterSlab(const Module& model, const ParameterRates& rates = {});

  const std::vector<Part>& parts() const { return parts_; }
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }

  // The stretch [begin, end) of this slab as one of its own, with values and gradients in the memory of two tensors of
  // this slab's size: its own ones, say. A parameter that is cut keeps its rules; what is there of it has one axis, and
  // the name NAME@FIRST, where FIRST is the first element. Cut where `begin` and `end` are multiples of kAlignment.
  ParameterSlab part(std::int64_t begin, std::int64_t end, const Tensor& values, const Tensor& gradients) const;
  // This slab with values and gradients in other memory, where all parameters learn at the same rate.
  ParameterSlab at_one_rate(const Tensor& values, const Tensor& gradients) const;
  static constexpr std::int64_t kAlignment = 16;  // in elements: each parameter begins on a cache line

  // The place of a parameter's gradient in gradients(); empty for a tensor elsewhere, such as that of a parameter that
  // does not learn.
  std::optional<std::int64_t> place_of(const Tensor& gradient) const;
  // The elements that a parameter takes in a slab: a multiple of kAlignment.
  static constexpr std::int64_t padded(std::int64_t elements) {
    return (elements + kAlignment - 1) / kAlignment * kAlignment;
  }

  void zero_grad() const;
  // Sets the gradients that no backward wrote to zero. Call it before reading gradients().
  void complete_gradients() const;

 private:
  ParameterSlab() = default;

  std::vector<Part> parts_;
  Tensor values_, gradients_;
};

}  // namespace tapeformer
