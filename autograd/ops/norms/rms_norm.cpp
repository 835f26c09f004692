#include "autograd/kernels/rows/rms_norm.h"

#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/layers.h"

namespace tapeformer {
namespace {

// Over the last axis, with rstd = 1/√(mean x² + ε), x̂ = x·rstd and g = dy·γ:
//   y = γ·x̂;  dx = rstd·(g − x̂·mean(g·x̂)),  dγ = Σ_rows dy·x̂
struct RmsNorm {
  static constexpr const char* kName = "rms_norm";
  double eps;
  Tensor x = {}, gamma = {}, rstd = {};

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& scale) {
    const std::int64_t cols = in.size(-1), rows = cols ? in.numel() / cols : 0;
    const Tensor source = in.contiguous(), weight = scale.contiguous();
    const Tensor y = Tensor::empty(in.sizes(), in.dtype());
    rstd = Tensor::empty({rows}, in.dtype());
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      kernels::rms_norm_forward(y.data<T>(), rstd.data<T>(), source.data<T>(), weight.data<T>(), rows, cols,
                                static_cast<T>(eps));
    });
    if (context.recording()) x = source, gamma = weight;
    return y;
  }

  Tensor recompute_output() const {
    const Tensor y = Tensor::empty(x.sizes(), x.dtype());
    dispatch_floating(x.dtype(), [&]<class T>(T) {
      kernels::rms_norm_recompute(y.data<T>(), x.data<T>(), rstd.data<T>(), gamma.data<T>(), rstd.numel(), x.size(-1));
    });
    return y;
  }

  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dgamma) {
    const Tensor g = dy.contiguous();
    const GradTarget to_x = target_or_none(dx), to_gamma = target_or_none(dgamma);
    dispatch_floating(x.dtype(), [&]<class T>(T) {
      kernels::rms_norm_backward(data_or_null<T>(to_x.tensor), T(to_x.beta), data_or_null<T>(to_gamma.tensor),
                                 T(to_gamma.beta), g.data<T>(), x.data<T>(), rstd.data<T>(), gamma.data<T>(),
                                 rstd.numel(), x.size(-1));
    });
  }
};

}  // namespace

Variable rms_norm(const Variable& x, const Variable& gamma, double eps) {
  check(x.value().rank() >= 1 && gamma.sizes() == Dims{x.size(-1)}, "rms_norm: x is ", x.sizes(), ", gamma is ",
        gamma.sizes(), ": expected gamma of the last axis's size");
  return record(RmsNorm{eps}, x, gamma);
}

}  // namespace tapeformer
