#include "nn/optim/parameter_slab.h"

#include "autograd/tensor/allocator.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kAlignment = 16;  // in elements: each part begins on a cache line, and the gaps hold zeros

}  // namespace

ParameterSlab::ParameterSlab(const Module& model, const ParameterRates& rates) {
  std::int64_t total = 0;
  for (const NamedParameter& parameter : model.named_parameters()) {
    const double rate = rates ? rates(parameter.name) : 1;
    if (rate == 0) continue;
    const Tensor& value = parameter.variable.value();
    parts_.push_back({parameter.name, parameter.variable, total, value.numel(), value.rank() >= 2, rate});
    total += (value.numel() + kAlignment - 1) / kAlignment * kAlignment;
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
  release_cached_memory();  // the old memory of the parameters: nothing else has their sizes
}

void ParameterSlab::zero_grad() const {
  for (const Part& part : parts_) part.variable.zero_grad();
}

void ParameterSlab::complete_gradients() const {
  for (const Part& part : parts_) {
    if (!part.variable.grad().defined()) gradients_.slice(0, part.begin, part.begin + part.size).fill(0);
  }
}

}  // namespace tapeformer
