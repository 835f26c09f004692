#include "train/distributed/local_steps.h"

#include <cmath>

#include "autograd/kernels/elementwise/elementwise.h"
#include "core/error.h"
#include "nn/optim/optimizers.h"

namespace tapeformer {

LocalStepsOptimizer::LocalStepsOptimizer(const ParameterSlab& slab, double clip, const MakeOptimizer& make,
                                         const LocalStepsOptions& options, Communicator& ranks, CommPrecision precision,
                                         std::int64_t bucket)
    : Optimizer(slab, clip),
      options_(options),
      ranks_(ranks),
      local_(make(slab)),
      shared_(Tensor::empty(slab.values().sizes(), slab.values().dtype())),
      // The gradients are not needed after a step, so Δ is stored in their memory. The local steps apply the
      // learning-rate factors of the parameters, so Δ contains them already.
      outer_slab_(slab.at_one_rate(shared_, slab.gradients())),
      outer_(
          outer_slab_, 0,
          [&](const ParameterSlab& piece) {
            return make_optimizer("sgd", piece, {{"momentum", options.momentum}, {"nesterov", options.momentum > 0}});
          },
          ranks, precision, bucket) {}

void LocalStepsOptimizer::update(const OptimizerStep& step) {
  if ((step.step - 1) % options_.sync_every == 0) shared_.copy_from(slab().values());
  local_->apply(step);
  if (step.step % options_.sync_every == 0) outer_step(step.step);
}

void LocalStepsOptimizer::outer_step(std::int64_t step) {
  const Tensor &values = slab().values(), &gradients = slab().gradients();
  dispatch_floating(values.dtype(), [&]<class T>(T) {
    const T share = T{1} / static_cast<T>(ranks_.size());
    T* const change = gradients.data<T>();
    kernels::axpby(change, share, shared_.data<T>(), T{0}, values.numel());
    kernels::axpby(change, -share, values.data<T>(), T{1}, values.numel());
  });
  const double norm = outer_.step(options_.outer_lr, step);
  check(std::isfinite(norm), "step ", step, ": the mean change of the weights in the last ", options_.sync_every,
        " steps is not a finite number; a lower optimizer.lr or train.outer_lr may help");
  values.copy_from(shared_);
}

NamedTensors LocalStepsOptimizer::state() const {
  NamedTensors state = local_->state();
  for (auto& [name, values] : outer_.state()) state.emplace_back("outer." + name, values);
  return state;
}

}  // namespace tapeformer
