#include "autograd/ops/normed_linear.h"

#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/layer_norm.h"
#include "autograd/kernels/reduce.h"
#include "autograd/ops/matrix_view.h"

namespace tapeformer {
namespace {

Tensor dense_or_undefined(const Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : Tensor(); }

}  // namespace

Tensor NormedLinear::forward(const Tensor& in, const Tensor& w, const Tensor& gamma, const Tensor& beta,
                             bool recording) {
  const std::int64_t features = w.size(1), outputs = w.size(0), rows = features ? in.numel() / features : 0;
  weight_ = readable_by_blas(w);
  x_ = in.reshape({rows, features});
  Tensor source;
  if (gamma.defined()) {
    x_ = x_.contiguous(), gamma_ = gamma.contiguous(), beta_ = dense_or_undefined(beta);
    mean_ = Tensor::empty({rows}, in.dtype());
    rstd_ = Tensor::empty({rows}, in.dtype());
    source = normalised();
  } else {
    source = x_ = readable_by_blas(x_);
  }
  Dims sizes = in.sizes();
  sizes[sizes.rank() - 1] = outputs;
  const Tensor z = Tensor::empty(sizes, in.dtype());
  dispatch_floating(in.dtype(), [&]<class T>(T) { multiply(z.data<T>(), T{0}, source, false, weight_, true); });
  if (!recording) *this = NormedLinear(eps_);
  return z;
}

Tensor NormedLinear::normalised() const {
  const Tensor y = Tensor::empty(x_.sizes(), x_.dtype());
  dispatch_floating(x_.dtype(), [&]<class T>(T) {
    kernels::layer_norm_forward(y.data<T>(), mean_.data<T>(), rstd_.data<T>(), x_.data<T>(), gamma_.data<T>(),
                                data_or_null<T>(beta_), x_.size(0), x_.size(1), static_cast<T>(eps_));
  });
  return y;
}

void NormedLinear::backward(const Tensor& dz, GradSlot& dx, GradSlot& dweight) const {
  const Tensor g = readable_by_blas(dz.reshape({x_.size(0), weight_.size(0)}));
  write_gradient(dx, [&]<class T>(T* out, T beta) { multiply(out, beta, g, false, weight_, false); });
  write_gradient(dweight, [&]<class T>(T* out, T beta) { multiply(out, beta, g, true, x_, false); });
}

void NormedLinear::backward(const Tensor& dz, GradSlot& dx, GradSlot& dweight, GradSlot& dgamma,
                            GradSlot& dbeta) const {
  if (!gamma_.defined()) return backward(dz, dx, dweight);
  const Tensor g = readable_by_blas(dz.reshape({x_.size(0), weight_.size(0)}));
  Tensor y;
  if (dx.needed() || dgamma.needed() || dbeta.needed()) {
    y = Tensor::empty(x_.sizes(), x_.dtype());  // its gradient at first
    const GradTarget to_x = target_or_none(dx), to_gamma = target_or_none(dgamma), to_beta = target_or_none(dbeta);
    dispatch_floating(x_.dtype(), [&]<class T>(T) {
      T* const place = y.data<T>();
      multiply(place, T{0}, g, false, weight_, false);
      kernels::layer_norm_backward(data_or_null<T>(to_x.tensor), T(to_x.beta), data_or_null<T>(to_gamma.tensor),
                                   T(to_gamma.beta), data_or_null<T>(to_beta.tensor), T(to_beta.beta), place,
                                   x_.data<T>(), mean_.data<T>(), rstd_.data<T>(), gamma_.data<T>(), x_.size(0),
                                   x_.size(1), {place, data_or_null<T>(beta_)});
    });
  } else if (dweight.needed()) {
    y = normalised();
  }
  write_gradient(dweight, [&]<class T>(T* out, T beta) { multiply(out, beta, g, true, y, false); });
}

void add_bias(const Tensor& y, const Tensor& bias) {
  if (!bias.defined()) return;
  dispatch_floating(y.dtype(), [&]<class T>(T) {
    const std::int64_t outputs = bias.numel();
    kernels::add_bias(y.data<T>(), bias.contiguous().data<T>(), outputs ? y.numel() / outputs : 0, outputs);
  });
}

void write_bias_gradient(GradSlot& dbias, const Tensor& dz) {
  write_gradient(dbias, [&, dense = dz.contiguous()]<class T>(T* out, T beta) {
    const std::int64_t outputs = dense.size(-1), rows = outputs ? dense.numel() / outputs : 0;
    kernels::sum_axis(out, dense.data<T>(), std::int64_t{1}, rows, outputs, beta);
  });
}

void check_linear(const char* op, const Variable& x, const Variable& weight, const Variable& bias) {
  check(weight.value().rank() == 2 && x.value().rank() >= 1 && x.size(-1) == weight.size(1), op, ": x is ", x.sizes(),
        ", weight is ", weight.sizes(), ": expected x (..., in) and weight (out, in)");
  check(!bias.defined() || bias.sizes() == Dims{weight.size(0)}, op, ": weight is ", weight.sizes(), ", bias is ",
        bias.sizes(), ": expected bias (", weight.size(0), ")");
}

void check_norm(const char* op, const Variable& x, const NormWeights& norm) {
  const Variable &gamma = norm.gamma, &beta = norm.beta;
  check(!gamma.defined() || (x.value().rank() >= 1 && gamma.sizes() == Dims{x.size(-1)}), op, ": x is ", x.sizes(),
        ", gamma is ", gamma.sizes(), ": expected gamma of the last axis's size");
  check(!beta.defined() || (gamma.defined() && beta.sizes() == gamma.sizes()), op, ": gamma is ", gamma.sizes(),
        ", beta is ", beta.sizes(), ": expected the same");
}

}  // namespace tapeformer
