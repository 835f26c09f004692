// Gradients under the lower precisions of matrix products.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "autograd/gradcheck/op_cases.h"
#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/precision.h"
#include "autograd/ops/ops.h"

using namespace tapeformer;
using kernels::MatmulPrecision;

namespace {

// The value of a row of the op table and all its gradients, with inputs of a dtype.
std::vector<Tensor> value_and_gradients(const OpCase& row, DType dtype, MatmulPrecision precision) {
  const kernels::MatmulPrecisionScope scope(precision);
  Tape tape({.training = true, .random = {.seed = 5}});
  std::vector<Variable> leaves, inputs;
  for (const Tensor& input : row.inputs) {
    const bool differentiable = is_floating(input.dtype());
    leaves.push_back(differentiable ? Variable::parameter(input.to(dtype)) : Variable::constant(tape, input));
    inputs.push_back(leaves.back().on(tape));
  }
  const Variable y = row.function(inputs);
  // A loss with another factor for each element.
  const Tensor factors = random_normal(y.sizes(), 77).to(dtype);
  tape.backward(sum(mul(y, Variable::constant(tape, factors))));
  std::vector<Tensor> results{y.value().clone()};
  for (const Variable& leaf : leaves) {
    if (leaf.tape()) continue;
    results.push_back(leaf.grad().defined() ? leaf.grad() : Tensor::zeros(leaf.sizes(), dtype));
  }
  return results;
}

double norm(const Tensor& x) {
  double sum = 0;
  for (const double value : x.to(DType::f64).to_vector<double>()) sum += value * value;
  return std::sqrt(sum);
}

// |a − b| / |b|
double relative_distance(const Tensor& a, const Tensor& b) {
  double sum = 0;
  const std::vector<double> left = a.to(DType::f64).to_vector<double>(), right = b.to(DType::f64).to_vector<double>();
  for (std::size_t i = 0; i < left.size(); ++i) sum += (left[i] - right[i]) * (left[i] - right[i]);
  return std::sqrt(sum) / std::max(norm(b), 1e-3);
}

}  // namespace

TEST_CASE("Lower precisions: values and gradients of every op are those of f64, up to the rounding of products") {
  std::set<std::string> rounded;  // ops whose results change with the precision
  for (const OpCase& row : op_cases()) {
    // recompute() repeats other ops, and has weights of f64. Rounding moves a number across the kink of relu.
    if (row.op == "recompute" || (row.op == "feed_forward" && row.label.starts_with("relu"))) continue;
    CAPTURE(row.op);
    CAPTURE(row.label);
    const std::vector<Tensor> exact = value_and_gradients(row, DType::f64, MatmulPrecision::highest);
    const std::vector<Tensor> highest = value_and_gradients(row, DType::f32, MatmulPrecision::highest);
    for (const auto precision : {MatmulPrecision::high, MatmulPrecision::medium}) {
      const std::vector<Tensor> got = value_and_gradients(row, DType::f32, precision);
      // Two operands of a product are off by 2^-9 of themselves each (2^-17 with two parts); a gradient of attention
      // comes from four products, one behind the other, with an exponential between them.
      const double bound = precision == MatmulPrecision::medium ? 6 * 0x1p-8 : 6 * 0x1p-16;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        CAPTURE(i);
        CHECK(relative_distance(got[i], exact[i]) <= bound);
        if (relative_distance(got[i], highest[i]) > 0) rounded.insert(row.op);
      }
    }
  }
  const std::set<std::string> expected{"feed_forward",          "linear",    "linear_cross_entropy",
                                       "lora_linear",           "matmul",    "packed_cross_attention",
                                       "packed_self_attention", "recurrent", "scaled_dot_product_attention"};
  for (const std::string& op : rounded) CHECK_MESSAGE(expected.count(op) == 1, op);
  for (const std::string& op : expected) CHECK_MESSAGE(rounded.count(op) == 1, op);
}

TEST_CASE("low: a layer's value and its input's gradient are in 8 bits where it has many rows, all else as in medium") {
  const Tensor x = random_normal({24, 40}, 1), weight = random_normal({48, 40}, 2), bias = random_normal({48}, 3);
  const Tensor down = random_normal({40, 48}, 4), a = random_normal({3, 40}, 5), b = random_normal({48, 3}, 6);
  const auto layer = [](std::span<const Variable> in) { return linear(in[0], in[1], in[2]); };
  const auto lora = [](std::span<const Variable> in) {
    return lora_linear(in[0], in[1], in[2], in[0], {in[3], in[4], {{0, 48}}, 0.5});
  };
  const auto feed = [](std::span<const Variable> in) {
    return feed_forward(in[0], {in[1], in[2], in[3], {}}, ActivationKind::gelu);
  };
  const auto check = [](const OpCase& row, const std::vector<bool>& changes) {
    CAPTURE(row.op);
    const std::vector<Tensor> exact = value_and_gradients(row, DType::f32, MatmulPrecision::highest);
    const std::vector<Tensor> medium = value_and_gradients(row, DType::f32, MatmulPrecision::medium);
    const std::vector<Tensor> low = value_and_gradients(row, DType::f32, MatmulPrecision::low);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      CAPTURE(i);
      CHECK((relative_distance(low[i], medium[i]) > 0) == changes[i]);
      CHECK(relative_distance(low[i], exact[i]) < 3e-2);
    }
  };
  // The value, and the gradients of the inputs in turn.
  check({"linear", "", {x, weight, bias}, layer}, {true, true, false, false});
  check({"lora_linear", "", {x, weight, bias, a, b}, lora}, {true, true, false, false, false, false});
  // The gradients of the first layer's weight and bias, and of the second one's weight, follow from values in 8 bits.
  check({"feed_forward", "", {x, weight, bias, down}, feed}, {true, true, true, true, true});
  const Tensor few = x.slice(0, 0, kernels::kFewRows).clone();
  check({"linear, few rows", "", {few, weight, bias}, layer}, {false, false, false, false});
  const kernels::BatchInvariant invariant;
  check({"linear, each row by itself", "", {x, weight, bias}, layer}, {false, false, false, false});
}
