#include "autograd/kernels/rows/layer_norm.h"

#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/layers.h"

namespace tapeformer {
namespace {

// Over the last axis, with rstd = 1/√(σ² + ε), x̂ = (x − μ)·rstd and g = dy·γ:
//   y = γ·x̂ + β
//   dx = rstd·(g − mean(g) − x̂·mean(g·x̂)),  dγ = Σ_rows dy·x̂,  dβ = Σ_rows dy
struct LayerNorm {
  static constexpr const char* kName = "layer_norm";
  double eps;
  Tensor x = {}, gamma = {}, beta = {}, mean = {}, rstd = {};

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& scale, const Tensor& shift) {
    const std::int64_t cols = in.size(-1), rows = cols ? in.numel() / cols : 0;
    const Tensor source = in.contiguous(), weight = scale.contiguous();
    const Tensor bias = shift.defined() ? shift.contiguous() : Tensor();
    const Tensor y = Tensor::empty(in.sizes(), in.dtype());
    mean = Tensor::empty({rows}, in.dtype());
    rstd = Tensor::empty({rows}, in.dtype());
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      kernels::layer_norm_forward(y.data<T>(), mean.data<T>(), rstd.data<T>(), source.data<T>(), weight.data<T>(),
                                  data_or_null<T>(bias), rows, cols, static_cast<T>(eps));
    });
    if (context.recording()) x = source, gamma = weight, beta = bias;
    return y;
  }

  Tensor recompute_output() const {
    const Tensor y = Tensor::empty(x.sizes(), x.dtype());
    dispatch_floating(x.dtype(), [&]<class T>(T) {
      kernels::layer_norm_recompute(y.data<T>(), x.data<T>(), mean.data<T>(), rstd.data<T>(), gamma.data<T>(),
                                    data_or_null<T>(beta), mean.numel(), x.size(-1));
    });
    return y;
  }

  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dgamma, GradSlot& dbeta) {
    const Tensor g = dy.contiguous();
    const GradTarget to_x = target_or_none(dx), to_gamma = target_or_none(dgamma), to_beta = target_or_none(dbeta);
    dispatch_floating(x.dtype(), [&]<class T>(T) {
      const auto data = [](const GradTarget& t) { return data_or_null<T>(t.tensor); };
      kernels::layer_norm_backward(data(to_x), T(to_x.beta), data(to_gamma), T(to_gamma.beta), data(to_beta),
                                   T(to_beta.beta), g.data<T>(), x.data<T>(), mean.data<T>(), rstd.data<T>(),
                                   gamma.data<T>(), mean.numel(), x.size(-1));
    });
  }
};

}  // namespace

Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta, double eps) {
  check(x.value().rank() >= 1 && gamma.sizes() == Dims{x.size(-1)}, "layer_norm: x is ", x.sizes(), ", gamma is ",
        gamma.sizes(), ": expected gamma of the last axis's size");
  check(!beta.defined() || beta.sizes() == gamma.sizes(), "layer_norm: gamma is ", gamma.sizes(), ", beta is ",
        beta.sizes(), ": expected the same");
  return record(LayerNorm{eps}, x, gamma, beta);
}

}  // namespace tapeformer
