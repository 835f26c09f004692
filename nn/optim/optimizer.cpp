#include "nn/optim/optimizer.h"

#include <cmath>

#include "autograd/kernels/reduce.h"

namespace tapeformer {

AdamW::AdamW(const ParameterSlab& slab, const OptimizerSpec& spec)
    : slab_(slab),
      spec_(spec),
      m_(Tensor::zeros(slab.values().sizes(), slab.values().dtype())),
      v_(Tensor::zeros(slab.values().sizes(), slab.values().dtype())) {
  for (const ParameterSlab::Part& part : slab.parts()) {
    const double decay = part.matrix ? spec.weight_decay : 0;
    if (decay_.empty() || decay_.back().weight_decay != decay) decay_.push_back({0, decay});
    decay_.back().end = part.begin + part.size;
  }
}

double AdamW::update(double lr, std::int64_t step) {
  slab_.complete_gradients();
  return dispatch_floating(slab_.values().dtype(), [&]<class T>(T) {
    const T* gradients = slab_.gradients().data<T>();
    const double norm = std::sqrt(kernels::sum_of_squares(gradients, slab_.gradients().numel()));
    if (!std::isfinite(norm)) return norm;
    const kernels::AdamWStep adam{.lr = lr,
                                  .beta1 = spec_.beta1,
                                  .beta2 = spec_.beta2,
                                  .eps = spec_.eps,
                                  .gradient_scale = spec_.clip > 0 && norm > spec_.clip ? spec_.clip / norm : 1,
                                  .step = step};
    slab_.values().mark_changed();
    kernels::adamw(slab_.values().data<T>(), m_.data<T>(), v_.data<T>(), gradients, adam, decay_);
    return norm;
  });
}

NamedTensors AdamW::state() const {
  NamedTensors state;
  for (const auto& [prefix, slab] : {std::pair{"m.", m_}, std::pair{"v.", v_}}) {
    for (const ParameterSlab::Part& part : slab_.parts()) {
      state.emplace_back(prefix + part.name,
                         slab.slice(0, part.begin, part.begin + part.size).reshape(part.variable.sizes()));
    }
  }
  return state;
}

void AdamW::load_state(const std::map<std::string, Tensor>& state) {
  const NamedTensors places = this->state();
  for (const auto& [name, place] : places) {
    const auto found = state.find(name);
    check(found != state.end() && found->second.sizes() == place.sizes() && found->second.dtype() == place.dtype(),
          "optimizer state: ", name, ": expected ", place.sizes(), " ", place.dtype(),
          found == state.end() ? std::string(", which is missing")
                               : str_cat(", got ", found->second.sizes(), " ", found->second.dtype()));
  }
  for (const auto& [name, place] : places) place.copy_from(state.at(name));
}

}  // namespace tapeformer
