// Values that are computed again when backward needs them.
#include "autograd/tape/recompute.h"

#include <array>

#include "autograd/ops/ops.h"
#include "autograd/tape/record.h"
#include "autograd/tensor/allocator.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

using Inputs = std::span<const Variable>;
using Function = std::function<Variable(const Variable&)>;

constexpr RandomKey kKey{.seed = 5, .step = 2};

TapeOptions options(bool on) { return {.training = true, .recompute = on, .random = kKey}; }

bool same_bits(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && values_of(a) == values_of(b); }

// tanh of a layer of `weight` with dropout: (rows, n) → (rows, n)
Function layer(const Variable& weight) {
  return [weight](const Variable& x) { return tanh(linear(dropout(x, 0.3), weight, {})); };
}

// The value, the gradients, and the numbers that a random op behind draws are the same with and without.
void check_same(const TapeFunction& f) {
  const std::vector<Tensor> inputs{random_normal({5, 6}, 1), random_normal({6, 6}, 2)};
  const TapeFunction and_dropout = [&](Inputs in) { return dropout(f(in), 0.5); };
  for (const std::vector<Tensor>& at : {inputs, as_f32(inputs)}) {
    const Evaluation plain = evaluate(and_dropout, at, options(false)),
                     again = evaluate(and_dropout, at, options(true));
    CHECK(same_bits(plain.value, again.value));
    for (std::size_t i = 0; i < at.size(); ++i) {
      CAPTURE(i);
      REQUIRE(plain.gradients[i].defined() == again.gradients[i].defined());
      if (plain.gradients[i].defined()) CHECK(same_bits(plain.gradients[i], again.gradients[i]));
    }
  }
}

// f(x), counting its calls.
Function counted(int& calls, const Function& f) {
  return [&calls, f](const Variable& x) {
    ++calls;
    return f(x);
  };
}

std::vector<std::string> names(std::initializer_list<const char*> list) { return {list.begin(), list.end()}; }

}  // namespace

TEST_CASE("recompute: a gradient observer is told of a parameter after its last use, within a function or outside") {
  const Variable shared = Variable::parameter(random_normal({6, 6}, 1)),
                 inner = Variable::parameter(random_normal({6, 6}, 2)),
                 late = Variable::parameter(random_normal({6, 6}, 3));
  for (const bool on : {false, true}) {
    CAPTURE(on);
    for (const Variable& weight : {shared, inner, late}) weight.zero_grad();
    std::vector<std::vector<double>> told;
    const GradientObserver observer = [&](const Tensor& gradient) { told.push_back(values_of(gradient)); };
    TapeOptions with = options(on);
    with.gradient_observer = &observer;
    Tape tape(with);
    const Variable x = linear(Variable::constant(tape, random_normal({5, 6}, 4)), shared, {});
    const Function f = [&](const Variable& in) { return layer(inner)(layer(shared)(in)); };
    tape.backward(sum(layer(late)(recompute(f, recompute(f, x)))));
    REQUIRE(told.size() == 3);
    CHECK(told[0] == values_of(late.grad()));
    CHECK(told[1] == values_of(inner.grad()));
    CHECK(told[2] == values_of(shared.grad()));
  }
}

TEST_CASE("recompute: the same bits as without, between other uses of the parameters and of the input") {
  check_same([](Inputs in) { return recompute(layer(in[1]), in[0]); });
  check_same([](Inputs in) {
    const Variable x = layer(in[1])(in[0]), early = mul(x, x);
    const Variable y = recompute(layer(in[1]), recompute(layer(in[1]), x));
    return add(add(layer(in[1])(y), mul(y, x)), early);
  });
  check_same([](Inputs in) {  // the parameter itself goes in
    return add(recompute(layer(in[1]), in[1]), recompute(layer(in[1]), in[1]));
  });
}

TEST_CASE("recompute: gradients flow into what f captures from its tape") {
  check_same([](Inputs in) {
    const Variable memory = layer(in[1])(in[0]);
    const Function attend = [memory, f = layer(in[1])](const Variable& x) { return mul(f(add(x, memory)), memory); };
    return mul(recompute(attend, recompute(attend, in[0])), memory);
  });
}

TEST_CASE("recompute: one within another, and a result that is a view, an input or a constant") {
  check_same([](Inputs in) {
    const Function once = layer(in[1]);
    const Function twice = [once](const Variable& x) { return add(recompute(once, recompute(once, x)), x); };
    return recompute(twice, recompute(twice, in[0]));
  });
  check_same([](Inputs in) {
    const Function turned = [w = in[1]](const Variable& x) { return transpose(reshape(tanh(x), {6, 5}), 0, 1); };
    return recompute(turned, in[0]);
  });
  check_same([](Inputs in) { return recompute([](const Variable& x) { return x; }, in[0]); });
  check_same([](Inputs in) {
    const Variable other = tanh(in[0]);
    return mul(recompute([other](const Variable&) { return other; }, in[0]), other);
  });
  check_same([](Inputs in) {
    return mul(recompute([](const Variable& x) { return Variable::constant(*x.tape(), x.value()); }, in[0]), in[0]);
  });
}

TEST_CASE("recompute: attention on packed heads, and a deferred loss") {
  check_same([](Inputs in) {
    const Function block = [w = in[1]](const Variable& x) {
      const auto parts = split(linear(x, w, {}), std::array<std::int64_t, 3>{2, 2, 2}, -1);
      std::vector<Variable> heads;
      for (const Variable& part : parts) heads.push_back(transpose(reshape(part, {1, 5, 2, 1}), 1, 2));
      const Variable y = scaled_dot_product_attention(heads[0], heads[1], heads[2], {.causal = true, .dropout = 0.2});
      const Variable joined = reshape(transpose(y, 1, 2), {5, 2});
      return add(x, concat(std::array{joined, joined, joined}, -1));
    };
    return recompute(block, recompute(block, in[0]));
  });
  const Tensor targets = Tensor::from<std::int32_t>({0, 5, -1, 2, 2}, {5});
  check_same([&](Inputs in) {
    return recompute(
        [&targets, w = in[1]](const Variable& x) {
          return linear_cross_entropy(x, w, {}, Variable::constant(*x.tape(), targets), {.smoothing = 0.1});
        },
        in[0]);
  });
  // In the first run nothing is recorded, so the value is there at once.
  Tape tape(options(true));
  const Variable weight = Variable::parameter(random_normal({6, 6}, 2));
  const Variable loss = recompute(
      [&](const Variable& x) {
        return linear_cross_entropy(x, weight, {}, Variable::constant(tape, targets), {.deferred = true});
      },
      Variable::constant(tape, random_normal({5, 6}, 1)));
  CHECK(std::isfinite(loss.value().item()));
}

TEST_CASE("recompute: keeps one place on the tape and runs once more, only if backward comes there") {
  const Variable weight = Variable::parameter(random_normal({6, 6}, 2));
  const Tensor values = random_normal({5, 6}, 1);
  int calls = 0;
  const Function f = counted(calls, layer(weight));
  Tensor expected;
  for (bool on : {false, true}) {
    CAPTURE(on);
    calls = 0;
    weight.zero_grad();
    Tape tape(options(on));
    // The input needs no gradient, but the parameter inside does.
    const Variable y = recompute(f, Variable::constant(tape, values));
    recompute(f, y);  // does not lead to the root
    CHECK(y.requires_grad());
    CHECK(tape.node_names() ==
          (on ? names({"recompute", "recompute"}) : names({"linear", "tanh", "dropout", "linear", "tanh"})));
    CHECK(calls == 2);
    tape.backward(y, values);
    CHECK(calls == (on ? 3 : 2));
    CHECK(tape.node_count() == 0);
    if (on) CHECK(same_bits(weight.grad(), expected));
    expected = weight.grad();
  }
}

TEST_CASE("recompute: without a parameter inside, or without recording, it is f") {
  const Variable weight = Variable::parameter(random_normal({6, 6}, 2));
  int calls = 0;
  Tape tape(options(true));
  const Variable constant = Variable::constant(tape, random_normal({5, 6}, 1));
  CHECK_FALSE(recompute(counted(calls, [](const Variable& x) { return tanh(x); }), constant).requires_grad());
  CHECK(tape.node_count() == 0);
  CHECK(calls == 1);

  Tape silent({.record = false, .training = true, .recompute = true, .random = kKey});
  const Variable x = Variable::constant(silent, constant.value());
  const Variable y = recompute(counted(calls, layer(weight)), x);
  CHECK_FALSE(y.requires_grad());
  CHECK(silent.node_count() == 0);
  CHECK(calls == 2);
}

TEST_CASE("recompute: random ops behind it draw the same numbers, and the same again in the second run") {
  const auto masks = [](bool on) {
    std::vector<std::vector<double>> drawn;
    const Variable x = Variable::parameter(Tensor::full({64}, DType::f64, 1));
    Tape tape(options(on));
    const Function drop = [&](const Variable& in) {
      const Variable y = dropout(dropout(in, 0.3), 0.3);
      drawn.push_back(values_of(y.value()));
      return y;
    };
    const Variable y = recompute(drop, dropout(x.on(tape), 0.1)), after = dropout(y, 0.5);
    CHECK(tape.next_random_key().stream == 4);
    tape.backward(sum(after));
    CHECK(tape.next_random_key().stream == 5);
    drawn.push_back(values_of(after.value()));
    drawn.push_back(values_of(x.grad()));
    return drawn;
  };
  const auto plain = masks(false), again = masks(true);
  REQUIRE(plain.size() == 3);
  REQUIRE(again.size() == 4);
  CHECK(again[0] == plain[0]);
  CHECK(again[1] == plain[0]);  // the second run
  CHECK(again[2] == plain[1]);
  CHECK(again[3] == plain[2]);
}

TEST_CASE("recompute: the peak is the inputs of all parts and what one of them saves") {
  constexpr int kParts = 10, kOps = 8;
  constexpr std::int64_t kElements = 1 << 16, kOne = kElements * 4;
  const auto peak = [&](bool on) {
    const Variable x = Variable::parameter(Tensor::zeros({kElements}, DType::f32));
    const std::int64_t before = memory_stats().in_use;
    reset_peak_memory();
    Tape tape({.recompute = on});
    Variable root;
    {
      Variable y = x.on(tape);
      for (int part = 0; part < kParts; ++part) {
        y = recompute(
            [](const Variable& in) {
              Variable out = in;
              for (int i = 0; i < kOps; ++i) out = tanh(out);
              return out;
            },
            y);
      }
      root = sum(y);
    }
    tape.backward(root);
    const std::int64_t most = memory_stats().peak - before;
    x.zero_grad();
    CHECK(memory_stats().in_use <= before + 1024);
    return most / kOne;
  };
  CHECK(peak(false) >= kParts * kOps);
  CHECK(peak(true) <= kParts + kOps + 3);
}

TEST_CASE("recompute: misuse throws, and an error inside leaves the tape as it was") {
  const Variable weight = Variable::parameter(random_normal({6, 6}, 2));
  Tape tape(options(true));
  const Variable x = Variable::constant(tape, random_normal({5, 6}, 1));
  Variable leaked;
  const Variable y = recompute(
      [&](const Variable& in) {
        leaked = linear(in, weight, {});
        return tanh(leaked);
      },
      x);
  CHECK_FALSE(leaked.kept());
  CHECK(y.kept());
  CHECK_THROWS_WITH_AS(add(y, leaked), "add: takes a variable from inside of recompute(); only its result may leave it",
                       Error);
  CHECK_THROWS_WITH_AS(sum(leaked), "sum: takes a variable from inside of recompute(); only its result may leave it",
                       Error);
  CHECK_THROWS_WITH_AS(tape.backward(leaked, leaked.value()),
                       "backward: the root is not on this tape, or depends on no parameter", Error);
  CHECK_THROWS_WITH_AS(recompute(layer(weight), weight),
                       "recompute: no input is on a tape; put one there with Variable::constant or Variable::on",
                       Error);

  const std::size_t nodes = tape.node_count();
  CHECK_THROWS_AS(recompute([&](const Variable& in) { return matmul(linear(in, weight, {}), in); }, x), Error);
  CHECK(tape.node_count() == nodes);
  CHECK(layer(weight)(x).kept());  // recorded as before
  CHECK(tape.node_count() == nodes + 2);

  int calls = 0;
  const Variable fickle =
      recompute(counted(calls, [&](const Variable& in) { return calls == 1 ? linear(in, weight, {}) : tanh(in); }), x);
  const Variable root = sum(fickle);
  CHECK_THROWS_WITH_AS(tape.backward(root),
                       "recompute: f depended on a parameter in its first run, and does not in its second", Error);
  CHECK_THROWS_WITH_AS(tape.backward(root), "backward: the tape has been run backward already", Error);
}

TEST_CASE("recompute: its input written in place before backward is an error") {
  const Tensor x = random_normal({3}, 1);
  const Variable weight = Variable::parameter(random_normal({3}, 2));
  Tape tape({.recompute = true});
  const Variable start = mul(Variable::constant(tape, x), weight);
  const Variable loss = sum(recompute([&](const Variable& y) { return mul(y, weight); }, start));
  start.value().fill(1);
  CHECK_THROWS_WITH_AS(tape.backward(loss), "backward of recompute: its input was written in place after the op",
                       Error);
}
