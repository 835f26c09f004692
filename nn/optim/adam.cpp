#include "nn/optim/adam.h"

#include "autograd/kernels/optim/adamw.h"
#include "nn/optim/optimizer_rows.h"

namespace tapeformer {

std::vector<Key> adam_keys(double weight_decay) {
  // In f32 the square of a gradient below about 1e-22 is 0, and a smaller eps is all that the mean is then divided by:
  // the update would be far above the learning rate, or 0/0 where there is no gradient.
  constexpr double kLeastEps = 1e-20;
  return {{"beta1", 0.9, "decay of the mean of gradients", fraction()},
          {"beta2", 0.98, "decay of the mean of squared gradients", fraction()},
          {"eps", 1e-9, "added to the root of the mean square", at_least(kLeastEps)},
          weight_decay_key(weight_decay),
          state_key()};
}

Adam::Adam(const ParameterSlab& slab, const KeyValues& options, AdamDecay decay)
    : Optimizer(slab, options.number("clip")),
      beta1_(options.number("beta1")),
      beta2_(options.number("beta2")),
      eps_(options.number("eps")),
      decay_(decay),
      parts_(decay_matrices(slab, options.number("weight_decay"))),
      m_(add_moment("m", state_format(options), /*has_sign=*/true)),
      v_(add_moment("v", state_format(options), /*has_sign=*/false)) {}

void Adam::update(const OptimizerStep& step) {
  const kernels::AdamWStep adam{.lr = step.lr,
                                .beta1 = beta1_,
                                .beta2 = beta2_,
                                .eps = eps_,
                                .gradient_scale = step.gradient_scale,
                                .step = step.step,
                                .l2 = decay_ == AdamDecay::l2};
  const Tensor &weights = slab().values(), &gradients = slab().gradients();
  if (m_.is_reduced()) {
    return kernels::adamw(weights.data<float>(), m_.reduced(), v_.reduced(), gradients.data<float>(), adam, parts_,
                          layout(m_, step));
  }
  dispatch_floating(weights.dtype(), [&]<class T>(T) {
    kernels::adamw(weights.data<T>(), m_.values.data<T>(), v_.values.data<T>(), gradients.data<T>(), adam, parts_);
  });
}

OptimizerRow adam_row() {
  return {.name = "adam",
          .help = "Adam, with weight decay as an L2 term of the gradient (Kingma & Ba 2015)",
          .keys = adam_keys(0),
          .state_slabs = [](const KeyValues&, ParameterKind) { return 2; },
          .make = [](const ParameterSlab& slab, const KeyValues& options) -> std::unique_ptr<Optimizer> {
            return std::make_unique<Adam>(slab, options, AdamDecay::l2);
          }};
}

}  // namespace tapeformer
