// Functions of a row of numbers: softmax, the norms, and GELU.
#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "report/explain/topics.h"

#include <algorithm>
#include <cmath>

namespace tapeformer::explain {
namespace {

Variable row_of(Tape& tape, const TopicOptions& options, const char* otherwise) {
  return Variable::constant(tape, options.vector("x", otherwise));
}

std::vector<double> doubles(const Tensor& tensor) { return tensor.to_vector<double>(); }

}  // namespace

WorkedExample explain_softmax(const TopicOptions& options) {
  WorkedExample out{"softmax", "Softmax"};
  Tape tape(no_grad);
  const Variable x = row_of(tape, options, "1.3 5.1 2.2 0.7 1.1");
  out.formula("softmax(x)_i = e^(x_i) / Σ_j e^(x_j)");
  out.show(Values{"x", x.value()});
  const Variable shifted = sub(x, max(x, 0));
  out.say("The largest number is subtracted first. It changes nothing in the result, and no exponential overflows.");
  out.show(Values{"x − max", shifted.value()});
  const Variable exponentials = exp(shifted), total = sum(exponentials);
  out.show(Values{"e^(x − max)", exponentials.value()});
  out.show(Values{"sum", total.value()});
  const Variable quotient = div(exponentials, total), result = softmax(x);
  out.show(Values{"softmax", result.value()});
  out.show_difference("softmax", result.value(), quotient.value());
  if (!options.has("x")) out.say("The lectures print 0.02 0.90 0.05 0.01 0.02.");
  out.heading("Temperature");
  out.say("softmax(x/T): a temperature below 1 sharpens the distribution, one above 1 flattens it.");
  std::vector<Variable> rows;
  std::vector<std::string> names;
  for (const double temperature : {0.5, 1.0, 2.0, 10.0}) {
    rows.push_back(reshape(softmax(x / temperature), {1, x.size(0)}));
    names.push_back("T = " + number_text(temperature));
  }
  out.show(Values{"softmax(x/T)", concat(rows, 0).value(), names});
  out.heading("Logarithm");
  out.show(Values{"log_softmax", log_softmax(x).value()});
  return out;
}

WorkedExample explain_layer_norm(const TopicOptions& options) {
  WorkedExample out{"layer-norm", "Layer norm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019)"};
  Tape tape(no_grad);
  const double eps = options.number("eps", 1e-5);
  if (!(eps >= 0)) fail_usage("explain layer-norm: --eps: expected at least 0, got ", eps);
  const Variable x = row_of(tape, options, "1 2 3 6");
  const Variable ones = Variable::constant(tape, Tensor::full(x.sizes(), DType::f64, 1));
  out.formula("LN(x) = γ (x − μ) / √(σ² + ε) + β, μ = mean x, σ² = mean (x − μ)²");
  out.say("γ and β are learned; they begin as 1 and 0, as here.");
  out.show(Values{"x", x.value()});
  const Variable average = mean(x), centred = sub(x, average), variance = mean(square(centred));
  out.show(Values{"μ", average.value()});
  out.show(Values{"x − μ", centred.value()});
  out.show(Values{"σ²", variance.value()});
  const Variable steps = div(centred, sqrt(variance + eps)), result = layer_norm(x, ones, {}, eps);
  out.show(Values{"layer_norm", result.value()});
  out.show_difference("layer_norm", result.value(), steps.value());
  out.say("The result has the mean 0 and the variance 1 (but for ε):");
  out.show(Values{"mean of the result", mean(result).value()});
  out.show(Values{"variance of the result", mean(square(result)).value()});
  out.heading("RMSNorm");
  out.formula("RMS(x) = γ x / √(mean x² + ε)");
  const Variable mean_square = mean(square(x));
  out.show(Values{"mean x²", mean_square.value()});
  const Variable rms = rms_norm(x, ones, eps);
  out.show(Values{"rms_norm", rms.value()});
  out.show_difference("rms_norm", rms.value(), div(x, sqrt(mean_square + eps)).value());
  return out;
}

WorkedExample explain_gelu(const TopicOptions& options) {
  WorkedExample out{"gelu", "GELU (Hendrycks & Gimpel 2016)"};
  Tape tape(no_grad);
  const Variable x = row_of(tape, options, "-3 -2 -1 -0.5 0 0.5 1 2 3");
  out.formula("GELU(x) = x Φ(x), where Φ is the normal distribution");
  out.formula("its tanh approximation: x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))");
  const auto row = [](const Variable& values) { return reshape(values, {1, values.size(0)}); };
  const auto all = [&](const Variable& at) {
    return concat(std::vector<Variable>{row(relu(at)), row(gelu(at)), row(gelu_tanh(at))}, 0).value();
  };
  out.show(Values{"x", x.value()});
  out.show(Values{"relu, gelu, gelu_tanh", all(x), {"relu", "gelu", "gelu_tanh"}});
  std::vector<double> places;
  for (int i = -80; i <= 80; ++i) places.push_back(i / 20.0);
  const Variable grid = Variable::constant(tape, Tensor::from(std::span<const double>(places), {std::ssize(places)}));
  out.show(Curves{"between −4 and 4",
                  "x",
                  places,
                  {{"relu", doubles(relu(grid).value())},
                   {"gelu", doubles(gelu(grid).value())},
                   {"gelu_tanh", doubles(gelu_tanh(grid).value())}}});
  out.say("ReLU has no gradient below 0. GELU has its lowest value, about −0.17, near x = −0.75, and is smooth.");
  out.show(Values{"lowest gelu", neg(max(neg(gelu(grid)), 0)).value()});
  out.show_difference("gelu and its approximation between −4 and 4", gelu(grid).value(), gelu_tanh(grid).value());
  return out;
}

}  // namespace tapeformer::explain
