#include "nn/optim/adam.h"

#include "autograd/kernels/optim/adamw.h"
#include "nn/optim/optimizer_rows.h"

namespace tapeformer {

Adam::Adam(const ParameterSlab& slab, const OptimizerOptions& options, AdamDecay decay)
    : Optimizer(slab, options.clip),
      options_(options),
      decay_(decay),
      parts_(decay_matrices(slab, options.weight_decay)),
      m_(add_state("m")),
      v_(add_state("v")) {}

void Adam::update(const OptimizerStep& step) {
  const kernels::AdamWStep adam{.lr = step.lr,
                                .beta1 = options_.beta1,
                                .beta2 = options_.beta2,
                                .eps = options_.eps,
                                .gradient_scale = step.gradient_scale,
                                .step = step.step,
                                .l2 = decay_ == AdamDecay::l2};
  const Tensor &weights = slab().values(), &gradients = slab().gradients();
  dispatch_floating(weights.dtype(), [&]<class T>(T) {
    kernels::adamw(weights.data<T>(), m_.data<T>(), v_.data<T>(), gradients.data<T>(), adam, parts_);
  });
}

OptimizerRow adam_row() {
  return {.name = "adam",
          .help = "Adam, with weight decay as an L2 term of the gradient (Kingma & Ba 2015)",
          .options = {"beta1", "beta2", "eps", "weight_decay"},
          .defaults = {},
          .state_slabs = [](const OptimizerOptions&) { return 2; },
          .make = [](const ParameterSlab& slab, const OptimizerOptions& options) -> std::unique_ptr<Optimizer> {
            return std::make_unique<Adam>(slab, options, AdamDecay::l2);
          }};
}

}  // namespace tapeformer
