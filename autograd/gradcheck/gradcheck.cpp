#include "autograd/gradcheck/gradcheck.h"

#include <cmath>

#include "core/parallel.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kCotangentStream = 0xC07A;

// Uses one thread: small inputs gain nothing from more, which would wait for each other at every op.
class OneThread {
 public:
  OneThread() { set_thread_count(1); }
  ~OneThread() { set_thread_count(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = thread_count();
};

std::vector<double> values_without_gradient(const TapeFunction& f, std::span<const Tensor> inputs,
                                            TapeOptions options) {
  options.record = false;
  Tape tape(options);
  std::vector<Variable> variables;
  for (const Tensor& input : inputs) variables.push_back(Variable::constant(tape, input));
  return f(variables).value().to_vector<double>();
}

// The indices of the element with row-major index i, such as (1, 2).
Dims place_of(std::int64_t i, const Dims& sizes) {
  Dims place = sizes;
  for (int axis = sizes.rank() - 1; axis >= 0; i /= sizes[axis], --axis) place[axis] = i % sizes[axis];
  return place;
}

}  // namespace

Tensor random_normal(const Dims& sizes, std::uint64_t stream, DType dtype) {
  RandomStream random(RandomKey{.seed = 42, .stream = stream});
  const Tensor tensor = Tensor::empty(sizes, DType::f64);
  for (double& value : tensor.span<double>()) value = random.normal();
  return tensor.to(dtype);
}

GradCheckResult check_gradients(const TapeFunction& f, std::span<const Tensor> inputs,
                                const GradCheckOptions& options) {
  const OneThread one_thread;
  std::vector<Tensor> leaves;  // copies, whose elements are changed by eps one at a time
  for (const Tensor& input : inputs) {
    check(input.dtype() != DType::f32, "check_gradients: input ", leaves.size(), " is f32, expected f64 or i32");
    leaves.push_back(input.clone());
  }

  TapeOptions recording = options.tape;
  recording.record = true;
  Tape tape(recording);
  std::vector<Variable> variables;
  for (const Tensor& leaf : leaves) {
    variables.push_back(is_floating(leaf.dtype()) ? Variable::parameter(leaf).on(tape)
                                                  : Variable::constant(tape, leaf));
  }
  const Variable output = f(variables);
  const Tensor cotangent = random_normal(output.sizes(), kCotangentStream);
  tape.backward(output, cotangent);

  GradCheckResult result;
  for (std::size_t input = 0; input < leaves.size(); ++input) {
    if (!is_floating(leaves[input].dtype())) continue;
    const Tensor gradient = variables[input].grad();
    const std::vector<double> analytic =
        gradient.defined() ? gradient.to_vector<double>() : std::vector<double>(leaves[input].numel());
    const std::span<double> x = leaves[input].span<double>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double center = x[i];
      x[i] = center + options.eps;
      const std::vector<double> above = values_without_gradient(f, leaves, options.tape);
      x[i] = center - options.eps;
      const std::vector<double> below = values_without_gradient(f, leaves, options.tape);
      x[i] = center;
      double numeric = 0;
      for (std::size_t j = 0; j < above.size(); ++j) {
        numeric += cotangent.span<double>()[j] * (above[j] - below[j]) / (2 * options.eps);
      }
      const double error = std::abs(analytic[i] - numeric), tolerance = options.atol + options.rtol * std::abs(numeric);
      const double share = error / tolerance;
      if (share <= result.worst) continue;
      result.worst = std::isnan(share) ? INFINITY : share;
      result.error = error, result.tolerance = tolerance;
      if (share <= 1) continue;
      result.ok = false;
      result.message = str_cat("input ", input, " ", leaves[input].sizes(), ", element ",
                               place_of(static_cast<std::int64_t>(i), leaves[input].sizes()), ": analytic ",
                               analytic[i], ", numeric ", numeric);
    }
  }
  return result;
}

}  // namespace tapeformer
