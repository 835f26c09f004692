#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "autograd/gradcheck/check_ops.h"
#include "autograd/gradcheck/enumerators.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/ops/ops.h"
#include "autograd/tape/record.h"

using namespace tapeformer;

namespace {

enum class Flaw { none, factor, ignores_beta, transposed, forgotten };

constexpr const char* name_of(Flaw flaw) {
  switch (flaw) {
    case Flaw::none:
      return "test_tripled";
    case Flaw::factor:
      return "test_wrong_factor";
    case Flaw::ignores_beta:
      return "test_ignores_beta";
    case Flaw::transposed:
      return "test_transposed";
    case Flaw::forgotten:
      return "test_forgotten";
  }
  return "";
}

// y = 3x for square matrices, with a backward that is wrong in one way.
template <Flaw flaw>
struct Tripled {
  static constexpr const char* kName = name_of(flaw);
  Tensor forward(OpContext&, const Tensor& x) {
    const Tensor in = x.contiguous(), y = Tensor::empty(x.sizes(), x.dtype());
    kernels::axpby(y.data<double>(), 3.0, in.data<double>(), 0.0, y.numel());
    return y;
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    if (flaw == Flaw::forgotten) return;
    const Tensor g = (flaw == Flaw::transposed ? dy.transpose(0, 1) : dy).contiguous();
    const GradTarget target = dx.target();
    kernels::axpby(target.tensor.data<double>(), flaw == Flaw::factor ? 3.01 : 3.0, g.data<double>(),
                   flaw == Flaw::ignores_beta ? 0.0 : target.beta, g.numel());
  }
};

template <Flaw flaw>
OpCheck check_tripled() {
  const OpCase row{name_of(flaw), "", {random_normal({3, 3}, 1)}, [](std::span<const Variable> in) {
                     return record(Tripled<flaw>{}, in[0]);
                   }};
  return check_op(row.op, {&row, 1});
}

// y = x, with a gradient that is 0.01 % too large.
struct SlightlyWrong {
  static constexpr const char* kName = "test_slightly_wrong";
  Tensor forward(OpContext&, const Tensor& x) { return x; }
  void backward(const Tensor& dy, GradSlot& dx) {
    const Tensor wrong = dy.clone();
    kernels::axpby(wrong.data<double>(), 1.0001, wrong.data<double>(), 0.0, wrong.numel());
    dx.accumulate(wrong);
  }
};

// The row's function with a wrong gradient for one input, as if the op's backward were wrong.
TapeFunction with_wrong_gradient(const TapeFunction& f, std::size_t input) {
  return [f, input](std::span<const Variable> inputs) {
    std::vector<Variable> seen(inputs.begin(), inputs.end());
    seen[input] = record(SlightlyWrong{}, seen[input]);
    return f(seen);
  };
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("gradcheck: every op's gradient matches finite differences; one on the tape without a row fails") {
  std::set<std::string> without_row, with_row;
  for (const OpCheck& check : run_gradient_checks()) {
    (check.checks ? with_row : without_row).insert(check.op);
    if (check.op.starts_with("test_")) continue;  // of this test program
    CAPTURE(check.op);
    CAPTURE(check.message);
    CHECK(check.ok);
    CHECK(check.worst <= 1);
    CHECK(check.error <= check.tolerance);
    CHECK(check.error == doctest::Approx(check.worst * check.tolerance));
    CHECK(check.checks >= 6);
  }
  CHECK(without_row.contains("test_tripled"));
  for (const std::string& op : without_row) CHECK(op.starts_with("test_"));
  for (const char* op : {"add", "permute", "split", "softmax", "layer_norm", "scaled_dot_product_attention", "lstm",
                         "gru", "rnn_tanh", "rotary", "qk_norm", "swiglu", "cross_attention", "self_attention"}) {
    CHECK(with_row.contains(op));
  }
  const std::vector<std::string> names{"test_tripled"};
  const std::vector<OpCheck> checks = run_gradient_checks(names);
  REQUIRE(checks.size() == 1);
  CHECK_FALSE(checks[0].ok);
  CHECK(checks[0].message == "test_tripled: no row in autograd/gradcheck/*_cases.cpp");
}

TEST_CASE("gradcheck: names choose the ops, and an unknown one names the nearest") {
  const std::vector<std::string> two{"relu", "add"}, unknown{"sofmax"};
  const std::vector<OpCheck> checks = run_gradient_checks(two);
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].op == "add");
  CHECK(checks[1].op == "relu");
  const std::vector<std::string> op{"transform_heads"};  // an op whose rows have names of their own
  const std::vector<OpCheck> named = run_gradient_checks(op);
  REQUIRE(named.size() == 2);
  CHECK(named[0].op == "qk_norm");
  CHECK(named[1].op == "rotary");
  CHECK_THROWS_WITH_AS(run_gradient_checks(unknown), "gradcheck: there is no op sofmax; the nearest is softmax",
                       UsageError);
}

TEST_CASE("gradcheck: a row whose function does not record its op fails") {
  const OpCase row{"relu", "wrong", {random_normal({3}, 1)}, [](std::span<const Variable> in) { return exp(in[0]); }};
  const OpCheck check = check_op("relu", {&row, 1});
  CHECK_FALSE(check.ok);
  CHECK(check.message == "relu (wrong): the row does not record the op");
}

TEST_CASE("gradcheck: catches a wrong backward") {
  const OpCheck right = check_tripled<Flaw::none>();
  CAPTURE(right.message);
  CHECK(right.ok);
  CHECK(right.checks == 7);  // as it is, transposed, two slices, two expands, used twice
  CHECK(right.worst < 0.01);
  CHECK(right.message.empty());

  const OpCheck factor = check_tripled<Flaw::factor>();
  CHECK_FALSE(factor.ok);
  CHECK(contains(factor.message, "test_wrong_factor"));
  CHECK(contains(factor.message, "input 0 "));
  CHECK(contains(factor.message, "element ("));
  CHECK(contains(factor.message, "analytic "));
  CHECK(contains(factor.message, "numeric "));

  const OpCheck transposed = check_tripled<Flaw::transposed>();
  CHECK_FALSE(transposed.ok);
  CHECK(contains(transposed.message, "test_transposed"));

  CHECK_FALSE(check_tripled<Flaw::forgotten>().ok);
}

TEST_CASE("gradcheck: catches an error of 0.01 % in the gradient of every input of every row of the table") {
  for (const OpCase& row : op_cases()) {
    CAPTURE(row.op);
    CAPTURE(row.label);
    for (std::size_t input = 0; input < row.inputs.size(); ++input) {
      if (row.inputs[input].dtype() != DType::f64) continue;
      CAPTURE(input);
      const GradCheckResult result =
          check_gradients(with_wrong_gradient(row.function, input), row.inputs, op_check_options());
      CHECK_FALSE(result.ok);
      CHECK(contains(result.message, str_cat("input ", input, " ").c_str()));
    }
  }
}

TEST_CASE("gradcheck: the table has rows for every activation that feed_forward knows") {
  std::vector<std::string> flaws;
  for (const Enumerator<Flaw>& flaw : enumerators<Flaw>()) flaws.push_back(flaw.name);
  CHECK(flaws == std::vector<std::string>{"none", "factor", "ignores_beta", "transposed", "forgotten"});
  const std::vector<OpCase> rows = op_cases();
  CHECK(enumerators<ActivationKind>().size() >= 3);
  for (const Enumerator<ActivationKind>& activation : enumerators<ActivationKind>()) {
    CAPTURE(activation.name);
    CHECK(std::ranges::any_of(rows, [&](const OpCase& row) {
      return row.op == "feed_forward" && row.label.starts_with(activation.name + ",");
    }));
  }
}

TEST_CASE("gradcheck: catches a backward that overwrites an accumulated gradient") {
  const OpCheck check = check_tripled<Flaw::ignores_beta>();
  CHECK_FALSE(check.ok);
  CHECK(contains(check.message, "test_ignores_beta (used twice): "));
  // The unchanged row does not show the fault.
  const std::vector<Tensor> inputs{random_normal({3, 3}, 1)};
  CHECK(
      check_gradients([](std::span<const Variable> in) { return record(Tripled<Flaw::ignores_beta>{}, in[0]); }, inputs)
          .ok);
}

TEST_CASE("gradcheck: a NaN gradient fails, and an exception of an op is reported") {
  const std::vector<Tensor> negative{Tensor::from<double>({1, -1}, {2})};
  const GradCheckResult result = check_gradients([](std::span<const Variable> in) { return log(in[0]); }, negative);
  CHECK_FALSE(result.ok);
  CHECK(contains(result.message, "element (1)"));

  const OpCase throwing{
      "matmul", "wrong", {random_normal({2, 3}, 1)}, [](std::span<const Variable> in) { return matmul(in[0], in[0]); }};
  const OpCheck check = check_op("matmul", {&throwing, 1});
  CHECK_FALSE(check.ok);
  CHECK(contains(check.message, "matmul (wrong): matmul: a is (2, 3), b is (2, 3): inner sizes 3 and 2 differ"));

  const std::vector<Tensor> single{Tensor::scalar(1, DType::f32)};
  CHECK_THROWS_WITH_AS(check_gradients([](std::span<const Variable> in) { return exp(in[0]); }, single),
                       "check_gradients: input 0 is f32, expected f64 or i32", Error);
}

TEST_CASE("gradcheck: the inputs of the variants are the views that their labels name") {
  std::vector<Layout> layouts;
  const OpCase row{"row", "", {random_normal({2, 3}, 1), random_normal({2, 3}, 2)}, [&](std::span<const Variable> in) {
                     layouts.push_back(in[0].value().layout());
                     return add(in[0], in[1]);
                   }};
  const std::vector<OpCase> variants = input_variants(row);
  std::vector<std::string> labels;
  for (const OpCase& variant : variants) {
    labels.push_back(variant.label);
    CHECK(check_gradients(variant.function, variant.inputs).ok);
  }
  CHECK(labels ==
        std::vector<std::string>{"", "input 0 transposed (0, 1)", "input 0 sliced along 0", "input 0 expanded along 0",
                                 "input 0 sliced along 1", "input 0 expanded along 1", "input 0 also as input 1",
                                 "input 1 transposed (0, 1)", "input 1 sliced along 0", "input 1 expanded along 0",
                                 "input 1 sliced along 1", "input 1 expanded along 1", "used twice"});
  for (const Layout& layout : layouts) CHECK(layout.sizes == Dims{2, 3});
  for (const Dims& strides : {Dims{1, 2}, Dims{6, 1}, Dims{0, 1}, Dims{7, 2}, Dims{1, 0}}) {
    CAPTURE(strides);
    CHECK(std::ranges::any_of(layouts, [&](const Layout& layout) { return layout.strides == strides; }));
  }
}
