#include <optional>
#include <string>

#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/ops/ops.h"
#include "autograd/tape/record.h"
#include "autograd/tensor/allocator.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

// y = x; its backward notes how many bytes tensors hold at that moment.
struct Probe {
  static constexpr const char* kName = "test_probe";
  std::vector<std::int64_t>* bytes;
  Tensor forward(OpContext&, const Tensor& x) { return x; }
  void backward(const Tensor& dy, GradSlot& dx) {
    bytes->push_back(memory_stats().in_use);
    dx.accumulate(dy);
  }
};

// y = a + b; its backward notes which gradients are wanted.
struct Asks {
  static constexpr const char* kName = "test_asks";
  std::vector<bool>* needed;
  Tensor forward(OpContext&, const Tensor& a, const Tensor&) { return a; }
  void backward(const Tensor& dy, GradSlot& da, GradSlot& db) {
    *needed = {da.needed(), db.needed()};
    if (da.needed()) da.accumulate(dy);
    if (db.needed()) db.accumulate(dy);
  }
};

Variable parameter(std::initializer_list<double> values) {
  return Variable::parameter(Tensor::from(values, {static_cast<std::int64_t>(values.size())}));
}

std::vector<double> grad_of(const Variable& parameter) { return values_of(parameter.grad()); }

}  // namespace

TEST_CASE("tape: a gradient observer is told once of each parameter that the root depends on, when all is added") {
  const Variable early = parameter({1, 2}), late = parameter({3, 4}), beside = parameter({5, 6});
  std::vector<std::vector<double>> told;
  const GradientObserver observer = [&](const Tensor& gradient) { told.push_back(values_of(gradient)); };
  for (const double passes : {1.0, 2.0}) {
    told.clear();
    Tape tape({.gradient_observer = &observer});
    const Variable x = mul(early.on(tape), early);
    mul(x, beside);  // the root does not depend on it
    tape.backward(sum(mul(add(x, early), late)));
    CHECK(told == std::vector<std::vector<double>>{{2 * passes, 6 * passes}, {9 * passes, 20 * passes}});
    CHECK(told == std::vector<std::vector<double>>{grad_of(late), grad_of(early)});
  }
}

TEST_CASE("tape: gradients of a value used in several places add up") {
  const Variable x = parameter({1, 2, 3});
  Tape tape;
  const Variable on = x.on(tape);
  const Variable y = add(mul(on, on), add(on, on));  // x² + 2x
  tape.backward(sum(mul(y, on)));                    // x³ + 2x²
  CHECK(grad_of(x) == std::vector<double>{7, 20, 39});
}

TEST_CASE("tape: a gradient handed to two inputs is not changed by what one of them gathers") {
  const Variable a = parameter({1, 2}), b = parameter({3, 4});
  Tape tape;
  const Variable left = scale(a.on(tape), 2), right = scale(b.on(tape), 3);
  const Variable both = add(left, right);
  tape.backward(sum(add(both, scale(left, 10))));
  CHECK(grad_of(a) == std::vector<double>{22, 22});
  CHECK(grad_of(b) == std::vector<double>{3, 3});
}

TEST_CASE("tape: parameters gather gradients over tapes until zero_grad") {
  const Variable x = parameter({1, 2});
  const auto run = [&](double factor) {
    Tape tape;
    tape.backward(sum(scale(x.on(tape), factor)));
  };
  CHECK_FALSE(x.grad().defined());
  run(2);
  CHECK(grad_of(x) == std::vector<double>{2, 2});
  run(5);
  CHECK(grad_of(x) == std::vector<double>{7, 7});
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
  run(3);
  CHECK(grad_of(x) == std::vector<double>{3, 3});
}

TEST_CASE("tape: one parameter as two variables (tied weights) is one gradient") {
  const Variable weight = Variable::parameter(random_normal({3, 3}, 1)), tied = weight;
  CHECK(weight.same_parameter(tied));
  CHECK_FALSE(weight.same_parameter(Variable::parameter(weight.value())));
  Tape tape;
  const Variable x = Variable::constant(tape, random_normal({2, 3}, 2));
  tape.backward(sum(matmul(matmul(x, weight), tied)));
  CHECK(distance(weight.grad(), tied.grad()) == 0);
  const std::vector<Tensor> inputs{weight.value(), x.value()};
  CHECK(check_gradients([](std::span<const Variable> in) { return matmul(matmul(in[1], in[0]), in[0]); }, inputs).ok);
}

TEST_CASE("tape: a parameter bound to a slab keeps its value and has its gradient written in place") {
  const Variable x = parameter({1, 2, 3}), y = parameter({4, 5});
  const Tensor values = Tensor::zeros({5}, DType::f64), grads = Tensor::full({5}, DType::f64, -100);
  x.rebind(values.slice(0, 0, 3), grads.slice(0, 0, 3));
  y.rebind(values.slice(0, 3, 5), grads.slice(0, 3, 5));
  CHECK(values_of(values) == std::vector<double>{1, 2, 3, 4, 5});
  CHECK_FALSE(x.grad().defined());
  for (int round = 0; round < 2; ++round) {  // by target(), by accumulate(), first and later
    Tape tape;
    const Variable product = mul(x.on(tape), x.on(tape));
    tape.backward(sum(concat(std::span<const Variable>(std::array{add(product, x.on(tape)), y.on(tape)}), 0)));
  }
  CHECK(values_of(grads) == std::vector<double>{6, 10, 14, 2, 2});
  CHECK(x.grad().shares_storage_with(grads));
  CHECK(y.grad().shares_storage_with(grads));
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
  Tape tape;
  tape.backward(sum(scale(x.on(tape), 7)));
  CHECK(values_of(grads) == std::vector<double>{7, 7, 7, 2, 2});
  values.fill(2);
  CHECK(values_of(x.value()) == std::vector<double>{2, 2, 2});
}

TEST_CASE("tape: constants get no gradient, and a backward can ask what is not needed") {
  const Variable x = parameter({1, 2});
  Tape tape;
  const Variable constant = Variable::constant(tape, Tensor::from<double>({3, 4}, {2}));
  CHECK_FALSE(constant.requires_grad());
  CHECK_FALSE(mul(constant, constant).requires_grad());
  CHECK(tape.node_count() == 0);
  CHECK_THROWS_WITH_AS(constant.grad(), "grad: the variable is not a parameter", Error);
  std::vector<bool> needed;
  const Variable y = record(Asks{&needed}, x.on(tape), mul(constant, constant));
  CHECK(y.requires_grad());
  CHECK(tape.node_count() == 1);
  tape.backward(sum(y));
  CHECK(needed == std::vector<bool>{true, false});
  CHECK(grad_of(x) == std::vector<double>{1, 1});
}

TEST_CASE("tape: no_grad computes the same values and records nothing") {
  const Variable x = Variable::parameter(random_normal({4, 4}, 1));
  const auto f = [&](Tape& tape) { return softmax(matmul(gelu(x.on(tape)), dropout(x.on(tape), 0.5))); };
  Tape recording({.training = true, .random = {.seed = 1}});
  TapeOptions options = no_grad;
  options.training = true, options.random = {.seed = 1};
  Tape silent(options);
  const Variable recorded = f(recording), computed = f(silent);
  CHECK(recording.node_count() == 4);
  CHECK(silent.node_count() == 0);
  CHECK_FALSE(computed.requires_grad());
  CHECK(distance(recorded.value(), computed.value()) == 0);
  CHECK_THROWS_WITH_AS(silent.backward(sum(computed)),
                       "backward: the root is not on this tape, or depends on no parameter", Error);
}

TEST_CASE("tape: what an op saved is freed as backward passes it") {
  constexpr int kOps = 8;
  constexpr std::int64_t kElements = 1 << 16;
  const Variable x = Variable::parameter(Tensor::zeros({kElements}, DType::f32));
  std::vector<std::int64_t> bytes;
  const std::int64_t before = memory_stats().in_use;
  Tape tape;
  Variable root;
  {
    Variable y = x.on(tape);
    for (int i = 0; i < kOps; ++i) y = record(Probe{&bytes}, exp(y));
    root = sum(y);
  }
  tape.backward(root);
  const std::int64_t one = kElements * 4;
  REQUIRE(bytes.size() == kOps);
  // At its start all outputs are kept, at its end one; beside them one gradient.
  CHECK(bytes.front() >= before + kOps * one);
  CHECK(bytes.back() <= before + 3 * one);
  for (int i = 2; i < kOps; ++i) CHECK(bytes[i] == bytes[i - 1] - one);
  CHECK(tape.node_count() == 0);
  x.zero_grad();
  CHECK(memory_stats().in_use <= before + 1024);
}

TEST_CASE("tape: a graph that does not lead to the root costs nothing") {
  const Variable x = parameter({1, 2}), unused = parameter({1, 2});
  Tape tape;
  const Variable y = scale(x.on(tape), 2);
  const Variable root = sum(y);
  std::vector<std::int64_t> bytes;
  record(Probe{&bytes}, mul(y, unused.on(tape)));
  tape.backward(root);
  CHECK(bytes.empty());
  CHECK_FALSE(unused.grad().defined());
  CHECK(grad_of(x) == std::vector<double>{2, 2});
}

TEST_CASE("tape: misuse throws an error that says what is wrong") {
  const Variable x = parameter({1, 2});
  Tape tape, other;
  const Variable y = scale(x.on(tape), 2);
  CHECK_THROWS_WITH_AS(add(y, x.on(other)), "add: the inputs are on different tapes", Error);
  CHECK_THROWS_WITH_AS(add(x, x), "add: no input is on a tape; put one there with Variable::constant or Variable::on",
                       Error);
  CHECK_THROWS_WITH_AS(dropout(x, 0.5),
                       "dropout: no input is on a tape; put one there with Variable::constant or Variable::on", Error);
  CHECK_THROWS_WITH_AS(tape.backward(y), "backward: the root is (2); pass a dy of that shape", Error);
  CHECK_THROWS_WITH_AS(tape.backward(y, Tensor::zeros({3}, DType::f64)), "backward: dy is (3) f64, the root (2) f64",
                       Error);
  CHECK_THROWS_WITH_AS(tape.backward(y, Tensor::zeros({2}, DType::f32)), "backward: dy is (2) f32, the root (2) f64",
                       Error);
  CHECK_THROWS_WITH_AS(other.backward(y), "backward: the root is not on this tape, or depends on no parameter", Error);
  CHECK_THROWS_WITH_AS(Variable::parameter(Tensor::zeros({1}, DType::i32)),
                       "parameter: expected a floating-point tensor", Error);
  const Variable root = sum(y);
  tape.backward(root);
  CHECK_THROWS_WITH_AS(tape.backward(root), "backward: the tape has been run backward already", Error);
  CHECK_THROWS_WITH_AS(scale(root, 2), "scale: the tape has been run backward already; start a new one", Error);
}

TEST_CASE("tape: a variable of a tape that was destroyed is refused on another at the same address") {
  const Variable x = parameter({1, 2});
  std::optional<Tape> tape(std::in_place);
  const Variable state = scale(x.on(*tape), 2), root = sum(state);
  const Tape* const address = &*tape;
  tape.emplace();
  REQUIRE(&*tape == address);
  const Variable y = scale(x.on(*tape), 3);
  const char* const refused =
      ": an input is on a tape that was destroyed; put its value on this one with Variable::constant";
  CHECK_THROWS_WITH_AS(add(y, state), (std::string("add") + refused).c_str(), Error);
  CHECK_THROWS_WITH_AS(scale(state, 2), (std::string("scale") + refused).c_str(), Error);
  CHECK_THROWS_WITH_AS(tape->backward(root), "backward: the root is not on this tape, or depends on no parameter",
                       Error);
  tape->backward(sum(add(y, Variable::constant(*tape, state.value()))));
  CHECK(grad_of(x) == std::vector<double>{3, 3});
}

TEST_CASE("tape: the same place of the same step draws the same random numbers, another does not") {
  const auto draw = [](const RandomKey& key, int ops_before) {
    Tape tape({.training = true, .random = key});
    const Variable x = Variable::constant(tape, Tensor::full({64}, DType::f64, 1));
    for (int i = 0; i < ops_before; ++i) dropout(x, 0.5);
    return values_of(dropout(x, 0.5).value());
  };
  const std::vector<double> first = draw({.seed = 1, .step = 2}, 0);
  CHECK(first == draw({.seed = 1, .step = 2}, 0));
  CHECK(first != draw({.seed = 1, .step = 2}, 1));
  CHECK(first != draw({.seed = 1, .step = 3}, 0));
  CHECK(first != draw({.seed = 1, .step = 2, .micro_step = 1}, 0));
  CHECK(first != draw({.seed = 2, .step = 2}, 0));
}

TEST_CASE("tape: a loop of fixed shapes asks the system for no memory after its first step") {
  const Variable weight = Variable::parameter(random_normal({32, 32}, 1, DType::f32)),
                 gain = Variable::parameter(Tensor::full({32}, DType::f32, 1));
  const Tensor x = random_normal({2, 16, 32}, 2, DType::f32);
  std::int64_t after_first = 0;
  double first_loss = 0;
  for (int step = 0; step < 4; ++step) {
    Tape tape({.training = true, .random = {.seed = 1}});
    const std::array<std::int64_t, 2> halves{16, 16};
    const auto parts = split(linear(layer_norm(Variable::constant(tape, x), gain, {}, 1e-5), weight, {}), halves, -1);
    const auto heads = [](const Variable& v) { return transpose(reshape(v, {2, 16, 4, 4}), 1, 2); };
    const Variable mixed = scaled_dot_product_attention(heads(parts[0]), heads(parts[1]), heads(parts[1]),
                                                        {.causal = true, .dropout = 0.1});
    const Variable loss = mean(gelu(mul(mixed, mixed)));
    tape.backward(loss);
    weight.zero_grad();
    gain.zero_grad();
    if (step == 0) after_first = memory_stats().system_requests, first_loss = loss.value().item();
    CHECK(memory_stats().system_requests == after_first);
    CHECK(loss.value().item() == first_loss);
  }
}

TEST_CASE("tape: a value written in place between forward and backward is an error, not a wrong gradient") {
  const auto loss_of = [](Tape& tape, const Variable& weight, const Tensor& x, Variable& y) {
    y = exp(mul(Variable::constant(tape, x), weight));
    return sum(y);
  };
  const Tensor x = random_normal({3}, 1);
  const Variable weight = Variable::parameter(random_normal({3}, 2));
  Variable y;
  {
    Tape tape;
    const Variable loss = loss_of(tape, weight, x, y);
    y.value().fill(1);  // which exp has saved
    CHECK_THROWS_WITH_AS(tape.backward(loss), "backward of sum: its input 0 was written in place after the op", Error);
  }
  {
    Tape tape;
    const Variable loss = loss_of(tape, weight, x, y);
    x.slice(0, 1, 2).copy_from(Tensor::full({1}, DType::f64, 5));  // a view of an input
    CHECK_THROWS_WITH_AS(tape.backward(loss), "backward of mul: its input 0 was written in place after the op", Error);
  }
  {
    Tape tape;
    const Variable loss = loss_of(tape, weight, x, y);
    weight.value().add_from(x);  // as an optimizer would
    CHECK_THROWS_WITH_AS(tape.backward(loss), "backward of mul: its input 1 was written in place after the op", Error);
  }
  Tape tape;
  const Variable loss = loss_of(tape, weight, x, y);
  tape.backward(loss);  // and without
  CHECK(weight.grad().defined());
}
