#include "nn/optim/parameter_slab.h"

#include <algorithm>

#include "autograd/tensor/allocator.h"
#include "core/error.h"

namespace tapeformer {

ParameterSlab::ParameterSlab(const Module& model, const ParameterRates& rates) : buffers_(model.named_buffers()) {
  std::int64_t total = 0;
  for (const NamedParameter& parameter : model.named_parameters()) {
    const double rate = rates ? rates(parameter.name) : 1;
    if (rate == 0 || !parameter.variable.requires_grad()) continue;
    const Tensor& value = parameter.variable.value();
    parts_.push_back({parameter.name, parameter.variable, total, value.numel(), parameter.role, rate, value.sizes()});
    // The gaps that padding leaves between parameters hold zeros.
    total += padded(value.numel());
  }
  check(!parts_.empty(), "parameter slab: the model has no parameters");
  const DType dtype = parts_[0].variable.dtype();
  values_ = Tensor::zeros({total}, dtype);
  gradients_ = Tensor::zeros({total}, dtype);
  for (const Part& part : parts_) {
    const Dims sizes = part.variable.sizes();
    const auto place = [&](const Tensor& slab) {
      return slab.slice(0, part.begin, part.begin + part.size).reshape(sizes);
    };
    part.variable.rebind(place(values_), place(gradients_));
  }
  release_cached_memory();  // frees the old memory of the parameters, whose sizes no other tensor has
}

std::string ParameterSlab::Part::state_name(std::int64_t elements) const {
  return first ? str_cat(name, '@', *first / elements) : name;
}

ParameterSlab ParameterSlab::part(std::int64_t begin, std::int64_t end, const Tensor& values,
                                  const Tensor& gradients) const {
  ParameterSlab slab;
  for (const Part& part : parts_) {
    const std::int64_t first = std::max(begin, part.begin), last = std::min(end, part.begin + part.size);
    if (first >= last) continue;
    const bool whole = last - first == part.size;
    Part& cut = slab.parts_.emplace_back(part);
    cut.variable = Variable();
    cut.begin = first - begin;
    if (whole) continue;
    cut.size = last - first;
    cut.sizes = {cut.size};
    cut.first = part.first.value_or(0) + first - part.begin;
  }
  slab.offset_ = offset_ + begin;
  slab.values_ = values.slice(0, begin, end);
  slab.gradients_ = gradients.slice(0, begin, end);
  return slab;
}

ParameterSlab ParameterSlab::at_one_rate(const Tensor& values, const Tensor& gradients) const {
  ParameterSlab slab = part(0, values_.numel(), values, gradients);
  for (Part& part : slab.parts_) part.rate = 1;
  return slab;
}

std::optional<std::int64_t> ParameterSlab::gradient_offset(const Tensor& gradient) const {
  if (!gradient.shares_storage_with(gradients_)) return std::nullopt;
  return gradient.layout().offset - gradients_.layout().offset;
}

void ParameterSlab::zero_grad() const {
  for (const Part& part : parts_) part.variable.zero_grad();
}

void ParameterSlab::complete_gradients() const {
  for (const Part& part : parts_) {
    if (part.variable.defined() && !part.variable.grad().defined())
      gradients_.slice(0, part.begin, part.begin + part.size).fill(0);
  }
}

}  // namespace tapeformer
