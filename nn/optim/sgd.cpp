#include "autograd/kernels/optim/sgd.h"

#include "core/error.h"
#include "nn/optim/optimizer_rows.h"
#include "nn/optim/weight_decay.h"

namespace tapeformer {
namespace {

// With g = gradient_scale·grad + weight_decay·w:
//   v = momentum·v + g;  w = w − lr·v, or with nesterov w = w − lr·(g + momentum·v)
class Sgd : public Optimizer {
 public:
  Sgd(const ParameterSlab& slab, const KeyValues& options)
      : Optimizer(slab, options.number("clip")),
        momentum_(options.number("momentum")),
        nesterov_(options.boolean("nesterov")),
        parts_(decay_matrices(slab, options.number("weight_decay"))) {
    if (nesterov_ && momentum_ == 0) fail_usage("sgd: nesterov: expected a momentum above 0 beside it, got 0");
    if (momentum_ != 0) velocity_ = add_moment("v", state_format(options), /*has_sign=*/true);
  }

 private:
  void update(const OptimizerStep& step) override {
    const kernels::SgdStep sgd{
        .lr = step.lr, .momentum = momentum_, .nesterov = nesterov_, .gradient_scale = step.gradient_scale};
    const Tensor &weights = slab().values(), &gradients = slab().gradients();
    if (velocity_.is_reduced()) {
      return kernels::sgd(weights.data<float>(), velocity_.reduced(), gradients.data<float>(), sgd, parts_,
                          layout(velocity_, step));
    }
    dispatch_floating(weights.dtype(), [&]<class T>(T) {
      T* velocity = velocity_.values.defined() ? velocity_.values.data<T>() : nullptr;
      kernels::sgd(weights.data<T>(), velocity, gradients.data<T>(), sgd, parts_);
    });
  }

  double momentum_;
  bool nesterov_;
  std::vector<kernels::DecayPart> parts_;
  MomentSlab velocity_;  // empty without momentum
};

}  // namespace

OptimizerRow sgd_row() {
  return {
      .name = "sgd",
      .help = "stochastic gradient descent, with weight decay as an L2 term of the gradient",
      .keys = {weight_decay_key(0),
               {"momentum", 0.9, "share of the last update that the next one keeps", fraction()},
               {"nesterov", false, "Nesterov's form of momentum"},
               state_key()},
      .state_slabs = [](const KeyValues& options, ParameterKind) { return options.number("momentum") != 0 ? 1 : 0; },
      .make = [](const ParameterSlab& slab, const KeyValues& options) -> std::unique_ptr<Optimizer> {
        return std::make_unique<Sgd>(slab, options);
      }};
}

}  // namespace tapeformer
