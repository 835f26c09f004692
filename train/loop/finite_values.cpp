#include "train/loop/finite_values.h"

#include <cmath>
#include <span>

#include "autograd/kernels/reduce.h"
#include "train/loop/nan_trace.h"

namespace tapeformer {
namespace {

bool all_finite(const Tensor& values) {
  return dispatch_floating(values.dtype(), [&]<class T>(T) {
    const std::span<T> elements = values.span<T>();
    return std::isfinite(kernels::sum_of_squares(elements.data(), static_cast<std::int64_t>(elements.size())));
  });
}

}  // namespace

void require_finite_values(const ParameterSlab& slab, const Optimizer& optimizer, std::int64_t step) {
  for (const ParameterSlab::Part& part : slab.parts()) {
    check(all_finite(part.variable.value()), "step ", step, ": the weights ", part.name, " are not finite numbers; ",
          kSlowerAdvice);
  }
  for (const auto& [name, values] : optimizer.state()) {
    check(all_finite(values), "step ", step, ": the optimizer's state ", name, " is not finite; ", kSlowerAdvice);
  }
}

}  // namespace tapeformer
