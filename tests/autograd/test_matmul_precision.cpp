// Gradients under the lower precisions of matrix products.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "autograd/gradcheck/op_cases.h"
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

TEST_CASE("medium and high: values and gradients of every op are those of f64, up to the rounding of products") {
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
