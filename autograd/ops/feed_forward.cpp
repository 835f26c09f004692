#include "autograd/kernels/activations.h"
#include "autograd/ops/matrix_view.h"
#include "autograd/ops/normed_linear.h"

namespace tapeformer {
namespace {

// y = h W₂ᵀ + b₂, h = act(u + b₁), u = x W₁ᵀ, or layer_norm(x) W₁ᵀ. u alone is kept; backward makes h again in its
// place. dh = dy W₂, dW₂ = dyᵀ h, db₂ = Σ_rows dy;  du = dh·act'(u + b₁), db₁ = Σ_rows du, and NormedLinear's backward
// of du
struct FeedForward {
  static constexpr const char* kName = "feed_forward";
  ActivationKind activation;
  NormedLinear up;
  Tensor u = {}, up_bias = {}, down_weight = {};

  Tensor forward(OpContext& context, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& w1,
                 const Tensor& b1, const Tensor& w2, const Tensor& b2) {
    const std::int64_t hidden = w1.size(0), dim = w2.size(0);
    const Tensor z = up.forward(x, w1, gamma, beta, context.recording());
    const Tensor rows = z.reshape({hidden ? z.numel() / hidden : 0, hidden});
    const Tensor h = context.recording() ? Tensor::empty(rows.sizes(), z.dtype()) : rows;
    down_weight = readable_by_blas(w2);
    if (b1.defined()) up_bias = b1.contiguous();
    Dims sizes = x.sizes();
    sizes[sizes.rank() - 1] = dim;
    const Tensor y = Tensor::empty(sizes, x.dtype());
    dispatch_floating(x.dtype(), [&]<class T>(T) {
      kernels::bias_activation_forward(activation, h.data<T>(), rows.data<T>(), data_or_null<T>(up_bias), rows.size(0),
                                       hidden);
      multiply(y.data<T>(), T{0}, h, false, down_weight, true);
    });
    add_bias(y, b2);
    if (context.recording()) u = rows;
    return y;
  }

  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dgamma, GradSlot& dbeta, GradSlot& dw1, GradSlot& db1,
                GradSlot& dw2, GradSlot& db2) {
    const Tensor g = readable_by_blas(dy.reshape({u.size(0), down_weight.size(0)}));
    const Tensor du = Tensor::empty(u.sizes(), u.dtype());
    const Tensor& h = u;
    dispatch_floating(u.dtype(), [&]<class T>(T) {
      multiply(du.data<T>(), T{0}, g, false, down_weight, false);
      kernels::bias_activation_backward(activation, u.data<T>(), du.data<T>(), data_or_null<T>(up_bias), u.size(0),
                                        u.size(1));
    });
    write_gradient(dw2, [&]<class T>(T* out, T beta) { multiply(out, beta, g, true, h, false); });
    write_bias_gradient(db2, dy);
    write_bias_gradient(db1, du);
    u = {};
    up.backward(du, dx, dw1, dgamma, dbeta);
  }
};

}  // namespace

Variable feed_forward(const Variable& x, const NormWeights& norm, const FeedForwardWeights& weights,
                      ActivationKind activation) {
  const auto& [w1, b1, w2, b2] = weights;
  check_norm("feed_forward", x, norm);
  check_linear("feed_forward", x, w1, b1);
  check(w2.value().rank() == 2 && w2.size(1) == w1.size(0), "feed_forward: the first weight is ", w1.sizes(),
        ", the second ", w2.sizes(), ": expected (hidden, in) and (out, hidden)");
  check(!b2.defined() || b2.sizes() == Dims{w2.size(0)}, "feed_forward: the second weight is ", w2.sizes(),
        ", its bias ", b2.sizes(), ": expected (", w2.size(0), ")");
  return record(FeedForward{activation, NormedLinear(norm.eps)}, x, norm.gamma, norm.beta, w1, b1, w2, b2);
}

}  // namespace tapeformer
