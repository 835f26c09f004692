// Parameters whose gradients a test gives.
#pragma once

#include <span>
#include <vector>

#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "nn/module/module.h"

namespace tapeformer {

// A matrix, a vector, and a parameter that no loss uses.
struct ToyModule : Module {
  explicit ToyModule(DType dtype)
      : matrix(register_parameter("matrix", {3, 5}, dtype, Init::normal(1), ParameterKind::matrix)),
        vector(register_parameter("vector", {5}, dtype, Init::normal(1))),
        unused(register_parameter("unused", {2, 2}, dtype, Init::normal(1), ParameterKind::matrix)) {
    initialize_parameters(1);
  }
  Variable matrix, vector, unused;
};

inline std::vector<double> numbers(const Tensor& tensor) { return tensor.to(DType::f64).to_vector<double>(); }

inline std::vector<double> random_numbers(std::uint64_t seed, std::size_t count) {
  RandomStream random({.seed = seed});
  std::vector<double> values(count);
  for (double& value : values) value = random.normal();
  return values;
}

// Runs a backward whose gradients of matrix and vector are these numbers.
inline void give_gradients(const ToyModule& toy, const std::vector<double>& matrix, const std::vector<double>& vector) {
  Tape tape;
  const auto dot = [&](const Variable& parameter, const std::vector<double>& gradient) {
    const Tensor tensor = Tensor::from(std::span<const double>(gradient), parameter.sizes()).to(parameter.dtype());
    return sum(mul(parameter, Variable::constant(tape, tensor)));
  };
  tape.backward(add(dot(toy.matrix, matrix), dot(toy.vector, vector)));
}

}  // namespace tapeformer
