#include "autograd/kernels/rows/batch_norm.h"

#include <cmath>

#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/layers.h"

namespace tapeformer {
namespace {

// Over all tokens that are no padding, with rstd = 1/√(σ² + ε) and x̂ = (x − μ)·rstd:
//   y = γ·x̂ + β, 0 for padding
//   dx = γ·rstd·(dy − mean(dy) − x̂·mean(dy·x̂)), or γ·rstd·dy with running statistics;  dγ = Σ dy·x̂,  dβ = Σ dy
struct BatchNormOp {
  static constexpr const char* kName = "batch_norm";
  RunningStatistics running;
  Tensor lengths;
  double eps;
  bool of_batch = false;
  Tensor x = {}, gamma = {}, mean = {}, rstd = {};

  kernels::NormRows rows(const Tensor& in) const {
    const std::int64_t cols = in.size(-1), count = cols ? in.numel() / cols : 0;
    if (!lengths.defined()) return {1, count, cols};
    return {lengths.size(0), in.size(1), cols, lengths.data<std::int32_t>()};
  }

  // running = (1 − momentum)·running + momentum·(mean and unbiased variance). One token has no variance.
  template <class T>
  void update_running(std::int64_t count) const {
    if (count < 2) return;
    const T momentum = static_cast<T>(running.momentum), unbiased = T(count) / T(count - 1);
    T *const means = running.mean.data<T>(), *const variances = running.variance.data<T>();
    for (std::int64_t j = 0; j < mean.numel(); ++j) {
      means[j] += momentum * (mean.data<T>()[j] - means[j]);
      variances[j] += momentum * (rstd.data<T>()[j] * unbiased - variances[j]);
    }
    running.mean.mark_changed(), running.variance.mark_changed();
  }

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& scale, const Tensor& shift) {
    const Tensor source = in.contiguous(), weight = scale.contiguous();
    const Tensor bias = shift.defined() ? shift.contiguous() : Tensor();
    const Tensor y = Tensor::empty(in.sizes(), in.dtype());
    of_batch = context.training();
    mean = of_batch ? Tensor::empty(weight.sizes(), in.dtype()) : running.mean.clone();
    rstd = of_batch ? Tensor::empty(weight.sizes(), in.dtype()) : running.variance.clone();
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      if (of_batch) kernels::batch_statistics(mean.data<T>(), rstd.data<T>(), source.data<T>(), rows(in));
      if (context.updates_state()) update_running<T>(rows(in).count());
      for (T& value : rstd.span<T>()) value = static_cast<T>(1 / std::sqrt(static_cast<double>(value) + eps));
      kernels::batch_norm_forward(y.data<T>(), source.data<T>(), mean.data<T>(), rstd.data<T>(), weight.data<T>(),
                                  data_or_null<T>(bias), rows(in));
    });
    if (context.recording()) x = source, gamma = weight;
    return y;
  }

  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dgamma, GradSlot& dbeta) {
    const Tensor g = dy.contiguous();
    const GradTarget to_x = target_or_none(dx), to_gamma = target_or_none(dgamma), to_beta = target_or_none(dbeta);
    dispatch_floating(x.dtype(), [&]<class T>(T) {
      const auto data = [](const GradTarget& t) { return data_or_null<T>(t.tensor); };
      kernels::batch_norm_backward(data(to_x), T(to_x.beta), data(to_gamma), T(to_gamma.beta), data(to_beta),
                                   T(to_beta.beta), g.data<T>(), x.data<T>(), mean.data<T>(), rstd.data<T>(),
                                   gamma.data<T>(), rows(x), of_batch);
    });
  }
};

}  // namespace

Variable batch_norm(const Variable& x, const Variable& gamma, const Variable& beta, const RunningStatistics& running,
                    double eps, const Tensor& lengths) {
  constexpr auto kName = BatchNormOp::kName;
  const Dims& sizes = x.sizes();
  check(sizes.rank() >= 1 && gamma.sizes() == Dims{x.size(-1)}, kName, ": x is ", sizes, ", gamma is ", gamma.sizes(),
        ": expected gamma of the last axis's size");
  check(!beta.defined() || beta.sizes() == gamma.sizes(), kName, ": gamma is ", gamma.sizes(), ", beta is ",
        beta.sizes(), ": expected the same");
  for (const Tensor& of : {running.mean, running.variance}) {
    check(of.defined() && of.sizes() == gamma.sizes() && of.dtype() == x.dtype() && of.is_contiguous(), kName,
          ": expected running statistics ", x.dtype(), " ", gamma.sizes(), ", got others");
  }
  check(!lengths.defined() || (sizes.rank() == 3 && lengths.sizes() == Dims{sizes[0]} && lengths.dtype() == DType::i32),
        kName, ": x is ", sizes, ", lengths are ", lengths.defined() ? str_cat(lengths.sizes()) : "",
        ": expected (B, T, C) and i32 (B)");
  return record(BatchNormOp{running, lengths.defined() ? lengths.contiguous() : Tensor(), eps}, x, gamma, beta);
}

}  // namespace tapeformer
