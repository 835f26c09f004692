// What the tests of ops share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "autograd/gradcheck/gradcheck.h"

namespace tapeformer {

// A constant beside x: on its tape, of its dtype.
inline Variable beside(const Variable& x, const Tensor& values) {
  return Variable::constant(*x.tape(), values.to(x.dtype()));
}

// The elements of any floating tensor, in row-major order, as double.
inline std::vector<double> values_of(const Tensor& tensor) { return tensor.to(DType::f64).to_vector<double>(); }

// The largest |a − b|/(1 + |b|); infinite when the sizes differ or something is not a number.
inline double distance(const Tensor& a, const Tensor& b) {
  if (!(a.sizes() == b.sizes())) return INFINITY;
  const std::vector<double> left = values_of(a), right = values_of(b);
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double error = std::abs(left[i] - right[i]) / (1 + std::abs(right[i]));
    if (!(error <= largest)) largest = std::isnan(error) ? INFINITY : error;
  }
  return largest;
}

// The value of a function of ops and the gradients of its inputs, contracted with a random cotangent.
struct Evaluation {
  Tensor value;
  std::vector<Tensor> gradients;  // undefined for i32 inputs
};

inline Evaluation evaluate(const TapeFunction& f, std::span<const Tensor> inputs, const TapeOptions& options = {}) {
  Tape tape(options);
  std::vector<Variable> variables;
  for (const Tensor& input : inputs) {
    variables.push_back(is_floating(input.dtype()) ? Variable::parameter(input).on(tape)
                                                   : Variable::constant(tape, input));
  }
  const Variable output = f(variables);
  tape.backward(output, random_normal(output.sizes(), 99, output.dtype()));
  Evaluation evaluation{output.value(), {}};
  for (const Variable& variable : variables) {
    evaluation.gradients.push_back(variable.requires_grad() ? variable.grad() : Tensor());
  }
  return evaluation;
}

inline std::vector<Tensor> as_f32(std::span<const Tensor> inputs) {
  std::vector<Tensor> converted;
  for (const Tensor& input : inputs) {
    converted.push_back(is_floating(input.dtype()) ? input.to(DType::f32) : input);
  }
  return converted;
}

// Checks that two functions have the same values and gradients: in f64 to 1e-10, in f32 to 1e-5.
inline void check_twins(const TapeFunction& fused, const TapeFunction& composite, std::span<const Tensor> inputs,
                        const TapeOptions& options = {}) {
  const auto compare = [&](std::span<const Tensor> at, double tolerance) {
    const Evaluation a = evaluate(fused, at, options), b = evaluate(composite, at, options);
    CHECK(distance(a.value, b.value) <= tolerance);
    for (std::size_t i = 0; i < at.size(); ++i) {
      CAPTURE(i);
      REQUIRE(a.gradients[i].defined() == b.gradients[i].defined());
      if (a.gradients[i].defined()) CHECK(distance(a.gradients[i], b.gradients[i]) <= tolerance);
    }
  };
  compare(inputs, 1e-10);
  compare(as_f32(inputs), 1e-5);
}

}  // namespace tapeformer
