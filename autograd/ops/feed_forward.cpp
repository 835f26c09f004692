#include "autograd/kernels/elementwise/activations.h"
#include "autograd/ops/helpers/linear_helpers.h"
#include "autograd/ops/helpers/matrix_view.h"

namespace tapeformer {
namespace {

// A feed-forward layer after its first product u = x W₁ᵀ:
//   y = h W₂ᵀ + b₂, h = act(u + b₁)
//   dh = dy W₂, dW₂ = dyᵀ h, db₂ = Σ_rows dy;  du = dh·act'(u + b₁), db₁ = Σ_rows du
// A gated activation splits u + b₁ into halves a and c: h = act(a)·c, da = dh·c·act'(a), dc = dh·act(a).
// The op keeps only u, which no other op reads; backward computes h again. Backward writes h and du to the memory of u
// and dh.
struct FeedForward {
  static constexpr const char* kName = "feed_forward";
  ActivationKind activation;
  Tensor u = {}, up_bias = {}, down_weight = {};

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& b1, const Tensor& w2, const Tensor& b2) {
    const std::int64_t hidden = w2.size(1), dim = w2.size(0);
    const Tensor rows = in.reshape({row_count(in), in.size(-1)});
    const bool in_place = !context.recording() && !is_gated(activation);
    const Tensor h = in_place ? rows : Tensor::empty({rows.size(0), hidden}, in.dtype());
    down_weight = readable_by_blas(w2);
    if (b1.defined()) up_bias = b1.contiguous();
    Dims sizes = in.sizes();
    sizes[sizes.rank() - 1] = dim;
    const Tensor y = Tensor::empty(sizes, in.dtype());
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      const auto activate =
          is_gated(activation) ? kernels::gated_activation_forward<T> : kernels::bias_activation_forward<T>;
      activate(activation, h.data<T>(), rows.data<T>(), data_or_null<T>(up_bias), rows.size(0), hidden);
      multiply_by_weight(y.data<T>(), T{0}, h, down_weight, true);
    });
    add_bias(y, b2);
    if (context.recording()) u = rows;
    return y;
  }

  void backward(const Tensor& dy, GradSlot& du_slot, GradSlot& db1, GradSlot& dw2, GradSlot& db2) {
    const std::int64_t rows = u.size(0), hidden = down_weight.size(1);
    const Tensor g = readable_by_blas(dy.reshape({rows, down_weight.size(0)}));
    const Tensor dh = Tensor::empty({rows, hidden}, u.dtype());
    dispatch_floating(u.dtype(), [&]<class T>(T) {
      multiply_by_weight(dh.data<T>(), T{0}, g, down_weight, false);
      const auto activate =
          is_gated(activation) ? kernels::gated_activation_backward<T> : kernels::bias_activation_backward<T>;
      activate(activation, u.data<T>(), dh.data<T>(), data_or_null<T>(up_bias), rows, hidden);
    });
    const Tensor& h = is_gated(activation) ? dh : u;
    const Tensor& du = is_gated(activation) ? u : dh;
    write_gradient(dw2, [&]<class T>(T* out, T beta) { multiply(out, beta, g, true, h, false); });
    write_bias_gradient(db2, dy);
    write_bias_gradient(db1, du);
    Dims sizes = dy.sizes();
    sizes[sizes.rank() - 1] = u.size(1);
    if (du_slot.needed()) du_slot.accumulate(du.reshape(sizes));
  }
};

}  // namespace

Variable feed_forward(Variable x, const FeedForwardWeights& weights, ActivationKind activation) {
  const auto& [w1, b1, w2, b2] = weights;
  check_linear("feed_forward", x, w1, b1);
  const std::int64_t parts = is_gated(activation) ? 2 : 1;
  check(w2.value().rank() == 2 && parts * w2.size(1) == w1.size(0), "feed_forward: the first weight is ", w1.sizes(),
        ", the second ", w2.sizes(), ": expected (", parts == 2 ? "2 " : "", "hidden, in) and (out, hidden)");
  check(!b2.defined() || b2.sizes() == Dims{w2.size(0)}, "feed_forward: the second weight is ", w2.sizes(),
        ", its bias ", b2.sizes(), ": expected (", w2.size(0), ")");
  common_tape("feed_forward", {&x, &w1, &b1, &w2, &b2});
  const Variable u = linear(x, w1, {});
  x = {};  // frees x, if no other op keeps it, before the activation allocates memory
  return feed_forward_output(u, weights, activation);
}

Variable feed_forward_output(const Variable& u, const FeedForwardWeights& weights, ActivationKind activation) {
  return record(FeedForward{activation}, u, weights.up_bias, weights.down, weights.down_bias);
}

}  // namespace tapeformer
