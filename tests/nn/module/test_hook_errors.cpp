// Hooks that cannot be: on modules without an output of their own, and with results that do not fit.
#include "autograd/ops/ops.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

TEST_CASE("hooks: what cannot be hooked, what does not fit and an unknown name are errors in one line") {
  const Gpt model(modern_gpt());
  CHECK_THROWS_WITH_AS((void)model.module("blocks.0.attention.q_norm").register_forward_hook({}),
                       "register_forward_hook: the norm of the heads is part of an op of the attention, and has no "
                       "output of its own",
                       Error);
  CHECK_THROWS_WITH_AS((void)model.module("position_embedding").register_full_backward_hook({}),
                       "register_full_backward_hook: rotary positions have no vectors", Error);
  CHECK_THROWS_WITH_AS((void)Gpt(bare_gpt()).module("position_embedding").register_forward_hook({}),
                       "register_forward_hook: the model has no positions", Error);
  CHECK_THROWS_WITH_AS((void)model.module("blocks.0.atention"),
                       "module: there is no blocks.0.atention; did you mean blocks.0.attention?", Error);
  const Tensor ids = ids_tensor(random_ids(20, 17, 1), {2, 10});
  {
    const auto cut = [](const Module&, const Variable& y) { return slice(y, 1, 0, 3); };
    const HookHandle handle = model.module("blocks.0").register_forward_hook(cut);
    CHECK_THROWS_WITH_AS(
        logits_of(model, ids),
        "forward hook: expected an output (2, 10, 16) f64 on the tape of the module's, got (2, 3, 16) f64", Error);
  }
  const HookHandle handle = model.module("blocks.0").register_full_backward_hook([](const Module&, const Tensor& dy) {
    return dy.to(DType::f32);
  });
  CHECK_THROWS_WITH_AS(add_gradients(model, ids, ids),
                       "gradient hook: expected a gradient (2, 10, 16) f64, got (2, 10, 16) f32", Error);
}
