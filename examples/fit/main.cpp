// Fits sin(x) on [−π, π] by a network of one hidden layer: the tape and an optimizer, without any data or
// configuration.
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "nn/module/module.h"
#include "nn/optim/optimizers.h"
#include "nn/optim/schedule.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kPoints = 64, kHidden = 32, kSteps = 1000;

// y = W₂ gelu(W₁ x + b₁) + b₂
struct Network : Module {
  Variable w1 = register_parameter("w1", {kHidden, 1}, DType::f32, Init::normal(1), ParameterKind::matrix);
  Variable b1 = register_parameter("b1", {kHidden}, DType::f32, Init::normal(1));
  Variable w2 = register_parameter("w2", {1, kHidden}, DType::f32, Init::xavier_uniform(), ParameterKind::head);
  Variable b2 = register_parameter("b2", {1}, DType::f32, Init::zeros());

  Variable operator()(const Variable& x) const { return linear(gelu(linear(x, w1, b1)), w2, b2); }
};

}  // namespace

int main() {
  std::vector<float> x(kPoints), y(kPoints);
  for (std::int64_t i = 0; i < kPoints; ++i) {
    x[i] = static_cast<float>((2.0 * i / (kPoints - 1) - 1) * std::numbers::pi);
    y[i] = std::sin(x[i]);
  }
  const Tensor inputs = Tensor::from(std::span<const float>(x), {kPoints, 1});
  const Tensor targets = Tensor::from(std::span<const float>(y), {kPoints, 1});

  Network network;
  network.initialize_parameters(/*seed=*/1);
  const ParameterSlab slab(network);
  const auto optimizer = make_optimizer("adam", slab, {{"beta2", 0.99}, {"eps", 1e-8}});
  const ScheduleSpec schedule{.kind = ScheduleKind::cosine, .peak = 0.01, .total = kSteps};

  double loss = 0;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    slab.zero_grad();
    Tape tape;
    const Variable error = sub(network(Variable::constant(tape, inputs)), Variable::constant(tape, targets));
    const Variable mean_square = mean(mul(error, error));
    tape.backward(mean_square);
    optimizer->step(learning_rate(schedule, step), step);
    loss = mean_square.value().item();
    if (step == 1 || step % 100 == 0) std::printf("step %4d   mean squared error %.6f\n", static_cast<int>(step), loss);
  }
  return loss < 1e-4 ? 0 : 1;
}
