#include "autograd/gradcheck/op_table.h"
#include "autograd/ops/ops.h"

namespace tapeformer {

void add_arithmetic(OpTable& t) {
  const auto binary = [&](const char* op, Variable (*f)(const Variable&, const Variable&), auto&& right) {
    const auto function = [f](Inputs in) { return f(in[0], in[1]); };
    t.add(op, "equal shapes", {t.normal({2, 3}), right(Dims{2, 3})}, function);
    t.add(op, "broadcast", {t.normal({2, 1, 3}), right(Dims{4, 1})}, function);
    t.add(op, "with a scalar", {t.normal({2, 3}), right(Dims{})}, function);
  };
  const auto normal = [&](const Dims& sizes) { return t.normal(sizes); };
  const auto positive = [&](const Dims& sizes) { return t.positive(sizes); };
  binary("add", add, normal);
  binary("sub", sub, normal);
  binary("mul", mul, normal);
  binary("div", div, positive);
  // Elements of the two inputs are never within 0.03 of each other.
  const auto apart = [&](const Dims& sizes) {
    const Tensor values = t.distinct(sizes);
    values.add_from(Tensor::full(sizes, DType::f64, 0.05));
    return values;
  };
  const auto smaller_or_larger = [&](const char* op, Variable (*f)(const Variable&, const Variable&)) {
    const auto function = [f](Inputs in) { return f(in[0], in[1]); };
    t.add(op, "equal shapes", {t.distinct({2, 3}), apart({2, 3})}, function);
    t.add(op, "broadcast", {t.distinct({2, 1, 3}), apart({4, 1})}, function);
    t.add(op, "with a scalar", {t.distinct({2, 3}), apart({})}, function);
  };
  smaller_or_larger("minimum", minimum);
  smaller_or_larger("maximum", maximum);
  t.add("abs", "", {t.distinct({3, 4})}, [](Inputs in) { return abs(in[0]); });
  t.add("clamp", "", {t.distinct({4, 5})}, [](Inputs in) { return clamp(in[0], -0.5, 0.2); });
  t.add("square", "", {t.normal({2, 3})}, [](Inputs in) { return square(in[0]); });
  t.add("scale", "neg", {t.normal({2, 3})}, [](Inputs in) { return neg(in[0]); });
  t.add("div", "of a number", {t.positive({2, 3})}, [](Inputs in) { return 1.5 / in[0]; });
  t.add("scale", "", {t.normal({2, 3})}, [](Inputs in) { return scale(in[0], -1.7); });
  t.add("add_scalar", "", {t.normal({2, 3})}, [](Inputs in) { return add_scalar(in[0], 0.3); });
  t.add("exp", "", {t.normal({2, 3})}, [](Inputs in) { return exp(in[0]); });
  t.add("log", "", {t.positive({2, 3})}, [](Inputs in) { return log(in[0]); });
  t.add("sqrt", "", {t.positive({2, 3})}, [](Inputs in) { return sqrt(in[0]); });
}

void add_functions(OpTable& t) {
  const auto unary = [&](const char* op, Variable (*f)(const Variable&)) {
    t.add(op, "", {t.distinct({3, 5})}, [f](Inputs in) { return f(in[0]); });
    t.add(op, "far from 0", {Tensor::from<double>({-9, -4, -2.5, 2.5, 4, 9}, {6})},
          [f](Inputs in) { return f(in[0]); });
  };
  unary("relu", relu);
  unary("tanh", tanh);
  unary("sigmoid", sigmoid);
  unary("softplus", softplus);
  unary("gelu", gelu);
  unary("gelu_tanh", gelu_tanh);
  unary("softcap", [](const Variable& x) { return softcap(x, 1.3); });
  unary("softmax", softmax);
  unary("log_softmax", log_softmax);
  t.add("dropout", "", {t.normal({4, 5})}, [](Inputs in) { return dropout(in[0], 0.4); });
}

}  // namespace tapeformer
