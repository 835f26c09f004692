// Inputs that an op keeps for its backward: by value, or as a reference to an op that computes them again.
#include "autograd/tape/saved.h"

#include "autograd/ops/ops.h"
#include "autograd/tape/recompute.h"
#include "autograd/tape/record.h"
#include "autograd/tensor/allocator.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

using Inputs = std::span<const Variable>;

// y = x, which backward can "compute" again; counts how often it does.
struct Cheap {
  static constexpr const char* kName = "test_cheap";
  int* times;
  Tensor x = {};
  Tensor forward(OpContext&, const Tensor& in) {
    x = in;
    return in.clone();
  }
  Tensor recompute_output() const {
    ++*times;
    return x.clone();
  }
  void backward(const Tensor& dy, GradSlot& dx) { dx.accumulate(dy); }
};

// The same values as a view, which the ops behind it have to keep.
Variable kept(const Variable& x) { return reshape(x, x.sizes()); }

// Checks that f has the same value and gradients, bit for bit, whether what it normalises and activates is computed
// again or kept.
void check_same_bits(const std::function<Variable(Inputs, const std::function<Variable(const Variable&)>& pass)>& f) {
  const std::vector<Tensor> inputs{random_normal({5, 6}, 1), random_normal({6}, 2), random_normal({6}, 3),
                                   random_normal({6, 6}, 4)};
  for (const std::vector<Tensor>& at : {inputs, as_f32(inputs)}) {
    for (bool recomputes : {false, true}) {
      const TapeOptions options{.training = true, .recompute = recomputes, .random = {.seed = 5}};
      const Evaluation again =
                           evaluate([&](Inputs in) { return f(in, [](const Variable& x) { return x; }); }, at, options),
                       by_value = evaluate([&](Inputs in) { return f(in, kept); }, at, options);
      CHECK(distance(again.value, by_value.value) == 0);
      for (std::size_t i = 0; i < at.size(); ++i) {
        CAPTURE(i);
        REQUIRE(again.gradients[i].defined() == by_value.gradients[i].defined());
        if (again.gradients[i].defined()) CHECK(distance(again.gradients[i], by_value.gradients[i]) == 0);
      }
    }
  }
}

}  // namespace

TEST_CASE("saved: a cheap output is computed again once for each op that needs it, and not for others") {
  const Variable x = Variable::parameter(random_normal({3, 4}, 1)),
                 weight = Variable::parameter(random_normal({4, 4}, 2));
  int times = 0;
  const auto gradients = [&](const auto& f) {
    times = 0;
    Tape tape;
    const Variable loss = f(record(Cheap{&times}, x.on(tape)));
    CHECK(times == 0);
    tape.backward(sum(loss));
    return times;
  };
  CHECK(gradients([&](const Variable& y) { return linear(y, weight, {}); }) == 1);
  CHECK(gradients([&](const Variable& y) { return add(linear(y, weight, {}), matmul(y, weight)); }) == 2);
  CHECK(gradients([&](const Variable& y) { return mul(y, y); }) == 2);
  CHECK(gradients([&](const Variable& y) { return add(y, y); }) == 0);
  CHECK(gradients([&](const Variable& y) { return linear(y, Variable::constant(*y.tape(), weight.value()), {}); }) ==
        0);

  Tape silent(no_grad);
  record(Cheap{&times}, x.on(silent));
  CHECK(silent.node_count() == 0);
}

TEST_CASE("saved: gradients have the same bits as when everything is kept") {
  check_same_bits([](Inputs in, const auto& pass) {  // a block: x + f(norm(x))
    const Variable y = pass(layer_norm(in[0], in[1], in[2], 1e-5));
    return add(in[0], pass(gelu(linear(y, in[3], in[2]))));
  });
  check_same_bits([](Inputs in, const auto& pass) {  // several ops that save it, and one that does not
    const Variable y = pass(layer_norm(in[0], in[1], {}, 1e-5));
    const Variable product = mul(matmul(y, in[3]), linear(y, in[3], {}));
    return add(div(product, add_scalar(mul(y, y), 1)), y);
  });
  check_same_bits([](Inputs in, const auto& pass) {  // one cheap op after another
    return linear(pass(relu(pass(gelu_tanh(pass(layer_norm(in[0], in[1], in[2], 1e-5)))))), in[3], {});
  });
  check_same_bits([](Inputs in, const auto& pass) { return linear(pass(rms_norm(in[0], in[1], 1e-5)), in[3], {}); });
  check_same_bits([](Inputs in, const auto& pass) {  // the weight too
    return linear(pass(relu(in[0])), pass(layer_norm(in[3], in[1], in[2], 1e-5)), {});
  });
}

TEST_CASE("saved: inside of recompute(), taken into it, and captured by it") {
  check_same_bits([](Inputs in, const auto& pass) {
    const auto block = [&](const Variable& y) {
      return [w = in[3], gamma = in[1], y, pass](const Variable& x) {
        const Variable normed = pass(layer_norm(add(x, matmul(y, w)), gamma, {}, 1e-5));
        return add(x, pass(gelu(dropout(linear(mul(normed, y), w, {}), 0.2))));
      };
    };
    const Variable x = pass(layer_norm(in[0], in[1], in[2], 1e-5)), y = pass(relu(in[0]));
    return linear(pass(gelu(recompute(block(y), recompute(block(y), x)))), in[3], {});
  });
}

TEST_CASE("saved: what is cheap takes no memory between forward and backward, nor beside the gradient of it") {
  constexpr std::int64_t kRows = 512, kDim = 256, kBytes = kRows * kDim * 4;
  const Variable gamma = Variable::parameter(Tensor::full({kDim}, DType::f32, 1)),
                 weight = Variable::parameter(random_normal({8, kDim}, 1, DType::f32));
  gamma.rebind(gamma.value().clone(), Tensor::empty({kDim}, DType::f32));
  weight.rebind(weight.value().clone(), Tensor::empty({8, kDim}, DType::f32));
  Tape tape;
  const Variable x = Variable::constant(tape, random_normal({kRows, kDim}, 2, DType::f32));
  const std::int64_t before = memory_stats().in_use;
  const Variable loss = sum(linear(layer_norm(x, gamma, {}, 1e-5), weight, {}));
  CHECK(memory_stats().in_use - before < kBytes / 8);
  reset_peak_memory();
  tape.backward(loss);
  CHECK(memory_stats().peak - before >= kBytes);
  CHECK(memory_stats().peak - before < kBytes * 5 / 4);
}

TEST_CASE("saved: writing in place what a value is computed again from is an error") {
  const Variable gamma = Variable::parameter(random_normal({3}, 1)),
                 weight = Variable::parameter(random_normal({3, 3}, 2));
  for (bool source : {true, false}) {
    Tape tape;
    const Tensor x = random_normal({2, 3}, 3);
    const Variable y = layer_norm(Variable::constant(tape, x), gamma, {}, 1e-5);
    const Variable loss = sum(linear(y, weight, {}));
    (source ? x : y.value()).fill(1);
    CHECK_THROWS_WITH_AS(tape.backward(loss),
                         source ? "backward of layer_norm: its input 0 was written in place after the op"
                                : "backward of linear: its input 0 was written in place after the op",
                         Error);
    CHECK_FALSE(gamma.grad().defined());
    weight.zero_grad();
  }
}
