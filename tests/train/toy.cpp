#include "tests/train/toy.h"

namespace tapeformer {

void check_accumulation(Config config, std::int64_t rows, std::initializer_list<std::int64_t> micro_steps,
                        std::int64_t steps, double tolerance) {
  config.optimizer.lr = 0;
  std::vector<StepResult> whole;
  std::vector<float> gradient, recurrent_state;
  for (const std::int64_t accumulate : micro_steps) {
    CAPTURE(accumulate);
    config.train.accumulate = accumulate;
    config.train.batch = rows / accumulate;
    AnyToy toy(config);
    for (std::int64_t number = 1; number <= steps; ++number) {
      const StepResult result = toy.step(number);
      if (accumulate == 1) {
        whole.push_back(result);
        continue;
      }
      const StepResult& expected = whole[number - 1];
      CHECK(result.loss == doctest::Approx(expected.loss).epsilon(1e-6));
      CHECK(result.grad_norm == doctest::Approx(expected.grad_norm).epsilon(tolerance));
      REQUIRE(result.nll_loss.has_value() == expected.nll_loss.has_value());
      if (result.nll_loss) CHECK(*result.nll_loss == doctest::Approx(*expected.nll_loss).epsilon(1e-6));
    }
    const std::vector<float> got = toy.slab.gradients().to_vector<float>();
    const std::vector<float> state = values_of(toy.objective.recurrent_state());
    if (accumulate == 1) gradient = got, recurrent_state = state;
    CHECK(norm_of_difference(got, gradient) <= tolerance * whole.back().grad_norm);
    REQUIRE(state.size() == recurrent_state.size());
    for (std::size_t i = 0; i < state.size(); ++i) CHECK(state[i] == doctest::Approx(recurrent_state[i]).epsilon(1e-5));
  }
}

}  // namespace tapeformer
