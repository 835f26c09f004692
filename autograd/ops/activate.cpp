#include "autograd/kernels/elementwise/activations.h"
#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/helpers/products.h"

namespace tapeformer {
namespace {

// The activation of a feed-forward layer: h = act(u), du = dh·act'(u).
// A gated one splits u into halves a and c: h = act(a)·c, da = dh·c·act'(a), dc = dh·act(a).
struct Activate {
  static constexpr const char* kName = "activate";
  ActivationKind activation;
  Saved u = {};

  Tensor forward(OpContext& context, const Tensor& in) {
    const Tensor rows = in.contiguous();
    const std::int64_t hidden = is_gated(activation) ? in.size(-1) / 2 : in.size(-1);
    Dims sizes = in.sizes();
    sizes[sizes.rank() - 1] = hidden;
    const Tensor h = Tensor::empty(sizes, in.dtype());
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      const auto run =
          is_gated(activation) ? kernels::gated_activation_forward<T> : kernels::bias_activation_forward<T>;
      run(activation, h.data<T>(), rows.data<T>(), nullptr, hidden ? h.numel() / hidden : 0, hidden);
    });
    u = context.save(0, rows);
    return h;
  }

  void backward(const Tensor& dy, GradSlot& du) {
    const Tensor in = u.get().clone(), dh = dy.clone();  // the kernels write to both
    const std::int64_t hidden = dh.size(-1);
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      const auto run =
          is_gated(activation) ? kernels::gated_activation_backward<T> : kernels::bias_activation_backward<T>;
      run(activation, in.data<T>(), dh.data<T>(), nullptr, hidden ? dh.numel() / hidden : 0, hidden);
    });
    if (du.needed()) du.accumulate(is_gated(activation) ? in : dh);
  }
};

}  // namespace

Variable activate(const Variable& u, ActivationKind activation) {
  check(u.value().rank() > 0 && (!is_gated(activation) || u.size(-1) % 2 == 0), "activate: u is ", u.sizes(),
        ": expected a last axis of ", is_gated(activation) ? "two halves" : "features");
  return record(Activate{activation}, u);
}

}  // namespace tapeformer
