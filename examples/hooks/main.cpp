// Hooks on the modules of a small GPT: one reads what a block computes, one switches an attention layer off, and one
// reads and scales a gradient. The model is not edited, and does not know of them.
#include <cmath>
#include <cstdio>
#include <vector>

#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "nn/models/gpt.h"

using namespace tapeformer;

namespace {

double root_mean_square(const Tensor& x) {
  double sum = 0;
  for (const double value : x.to(DType::f64).to_vector<double>()) sum += value * value;
  return std::sqrt(sum / static_cast<double>(x.numel()));
}

}  // namespace

int main() {
  const Gpt model({.vocab = 20, .context = 16, .layers = 2, .block = {.dim = 32, .heads = 4, .ff_dim = 64}});
  model.initialize_parameters(/*seed=*/1);
  const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6}, targets{1, 4, 1, 5, 9, 2, 6, 5};

  const auto loss = [&] {
    model.zero_grad();
    Tape tape;
    const auto row = [&](const std::vector<std::int32_t>& tokens) {
      return Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(tokens), {1, 8}));
    };
    const Variable loss = model.loss(row(ids), row(targets), {});
    tape.backward(loss);
    return loss.value().item();
  };
  const auto gradient_of = [&](const char* name) {
    for (const NamedParameter& parameter : model.named_parameters()) {
      if (parameter.name == name) return root_mean_square(parameter.variable.grad());
    }
    return 0.0;
  };

  // Reads: nothing changes. The handle keeps the hook. model.named_modules() lists what can be hooked.
  const double plain = loss(), plain_gradient = gradient_of("blocks.0.attention.qkv.weight");
  const HookHandle reader =
      model.module("blocks.0").register_forward_hook([](const Module&, const Variable& output) -> Variable {
        std::printf("blocks.0 gives values of size %.4f\n", root_mean_square(output.value()));
        return {};
      });
  bool right = loss() == plain;

  // Changes an activation: what the attention of block 1 adds becomes zero.
  HookHandle ablation = model.module("blocks.1.attention").register_forward_hook([](const Module&, const Variable& y) {
    return scale(y, 0);
  });
  const double without = loss();
  std::printf("loss %.6f, without the attention of block 1 %.6f\n", plain, without);
  right = right && without != plain;
  ablation.remove();

  // Changes a gradient: twice as large from block 0 on downwards.
  const HookHandle doubling =
      model.module("blocks.0").register_full_backward_hook([](const Module&, const Tensor& gradient) {
        std::printf("blocks.0 gets a gradient of size %.2e\n", root_mean_square(gradient));
        const Tensor twice = gradient.clone();
        twice.add_from(gradient);
        return twice;
      });
  right = right && loss() == plain;
  const double doubled = gradient_of("blocks.0.attention.qkv.weight");
  std::printf("gradient of block 0's qkv %.2e, with the hook %.2e\n", plain_gradient, doubled);
  right = right && std::abs(doubled / plain_gradient - 2) < 1e-5;
  return right ? 0 : 1;
}
