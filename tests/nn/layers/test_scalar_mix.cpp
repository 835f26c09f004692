// ELMo's mixture of layers.
#include "nn/layers/scalar_mix.h"

#include "autograd/ops/ops.h"
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

Tensor random_tensor(const Dims& sizes, std::uint64_t seed) {
  const Tensor tensor = Tensor::empty(sizes, DType::f64);
  initialize(tensor, Init::normal(1), RandomKey{.seed = seed});
  return tensor;
}

}  // namespace

TEST_CASE("scalar mix: it begins as the mean of the layers, and follows its weights and gamma") {
  const ScalarMix mix(3, DType::f64);
  mix.initialize_parameters(1);
  const auto mixture = [&] {
    Tape tape(no_grad);
    const Variable layers[] = {Variable::constant(tape, Tensor::full({2, 2}, DType::f64, 1)),
                               Variable::constant(tape, Tensor::full({2, 2}, DType::f64, 10)),
                               Variable::constant(tape, Tensor::full({2, 2}, DType::f64, 100))};
    return values_of(mix.forward(layers).value());
  };
  CHECK(mixture()[3] == doctest::Approx(37));
  mix.weight.value().copy_from(Tensor::from({std::log(1.0), std::log(2.0), std::log(5.0)}, {3}));
  mix.gamma.value().fill(2);
  CHECK(mix.shares()[2] == doctest::Approx(5 / 8.0));
  CHECK(mixture()[0] == doctest::Approx(2 * (1 + 20 + 500) / 8.0));
}

TEST_CASE("scalar mix: gradients match finite differences") {
  const ScalarMix mix(3, DType::f64);
  randomize(mix);
  std::vector<Tensor> values;
  for (std::uint64_t j = 0; j < 3; ++j) values.push_back(random_tensor({4, 5}, j));
  const Tensor cotangent = random_tensor({4, 5}, 3);
  const auto loss_on = [&](Tape& tape) {
    std::vector<Variable> layers;
    for (const Tensor& value : values) layers.push_back(Variable::constant(tape, value));
    return sum(mul(mix.forward(layers), Variable::constant(tape, cotangent)));
  };
  Tape tape;
  tape.backward(loss_on(tape));
  check_gradients(mix, gradients_of(mix), [&] {
    Tape plain(no_grad);
    return loss_on(plain).value().item();
  });
}

TEST_CASE("scalar mix: another number of layers, and layers of different sizes, are refused") {
  const ScalarMix mix(2, DType::f64);
  Tape tape(no_grad);
  const Variable layers[] = {Variable::constant(tape, Tensor::zeros({2, 4}, DType::f64)),
                             Variable::constant(tape, Tensor::zeros({2, 6}, DType::f64))};
  CHECK_THROWS_WITH_AS(mix.forward(std::span(layers).first(1)), "scalar mix: got 1 layers, expected 2", Error);
  CHECK_THROWS_WITH_AS(mix.forward(layers), "scalar mix: layer 1 is (2, 6), layer 0 is (2, 4): expected the same sizes",
                       Error);
}
