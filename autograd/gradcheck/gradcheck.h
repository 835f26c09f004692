// Compares gradients with finite differences, in f64.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape/tape.h"

namespace tapeformer {

// A function made of ops. It must give the same values for every fresh tape with the same options.
using TapeFunction = std::function<Variable(std::span<const Variable> inputs)>;

struct GradCheckOptions {
  double eps = 1e-6;  // central differences: (f(x + eps) − f(x − eps))/2eps
  // Correct ops stay below a tenth of this tolerance; an error of 0.01 % in a gradient exceeds it.
  double atol = 1e-7, rtol = 1e-5;
  TapeOptions tape = {};  // for every evaluation; `record` is set as needed
};

struct GradCheckResult {
  bool ok = true;
  double worst = 0;      // the largest |analytic − numeric|/(atol + rtol·|numeric|); the check passes up to 1
  double error = 0;      // |analytic − numeric| of that element
  double tolerance = 0;  // and atol + rtol·|numeric| of it
  std::string message;   // if the check fails, where that was: input, element, analytic and numeric value
};

// Compares every element of the gradient of every f64 input. i32 inputs are constants. f's output, of any shape, is
// contracted with a fixed random cotangent, since a plain sum hides the gradients of functions whose outputs add up to
// a constant (softmax). Throws Error for f32 inputs.
GradCheckResult check_gradients(const TapeFunction& f, std::span<const Tensor> inputs,
                                const GradCheckOptions& options = {});

// Standard normal values, the same in every run. Each stream gives different ones.
Tensor random_normal(const Dims& sizes, std::uint64_t stream, DType dtype = DType::f64);

}  // namespace tapeformer
