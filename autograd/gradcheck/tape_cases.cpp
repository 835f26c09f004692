#include "autograd/gradcheck/op_table.h"
#include "autograd/ops/ops.h"
#include "autograd/tape/hook_gradient.h"
#include "autograd/tape/recompute.h"

namespace tapeformer {

void add_recompute(OpTable& t) {
  using Function = std::function<Variable(const Variable&)>;
  const auto layer = [](const Variable& weight) -> Function {
    return [weight](const Variable& x) { return tanh(linear(dropout(x, 0.3), weight, {})); };
  };
  t.add("recompute", "", {t.normal({2, 3}), t.normal({3, 3})},
        [layer](Inputs in) { return recompute(layer(in[1]), in[0]); });
  t.add("recompute", "between other uses of its inputs", {t.normal({2, 3}), t.normal({3, 3})}, [layer](Inputs in) {
    const Variable x = layer(in[1])(in[0]);
    return mul(layer(in[1])(recompute(layer(in[1]), x)), x);
  });
  t.add("recompute", "of a constant", {t.normal({3, 3})}, [layer, x = t.normal({2, 3})](Inputs in) {
    return recompute(layer(in[0]), Variable::constant(*in[0].tape(), x));
  });
  t.add("recompute", "nested", {t.normal({2, 3}), t.normal({3, 3})}, [layer](Inputs in) {
    const Function inner = layer(in[1]);
    return recompute([inner](const Variable& x) { return add(inner(recompute(inner, x)), x); }, in[0]);
  });
}

// Hooks that leave the gradient, and one that returns a copy of it.
void add_hooks(OpTable& t) {
  t.add("hook_gradient", "", {t.normal({2, 3})},
        [](Inputs in) { return hook_gradient(in[0], [](const Tensor&) { return Tensor(); }); });
  t.add("hook_gradient", "of a value in use elsewhere", {t.normal({2, 3})}, [](Inputs in) {
    const Variable x = exp(in[0]);
    return mul(hook_gradient(x, [](const Tensor& gradient) { return gradient.clone(); }), x);
  });
}

}  // namespace tapeformer
