// Gradients of views that overlap, repeat or leave out parts of what they view.
#include <array>

#include "autograd/ops/ops.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

constexpr std::array<std::int64_t, 3> kThirds{4, 4, 4};

// (2, 3, 4) → (2, 2, 3, 2): heads_of in front of time
Variable heads_of(const Variable& x) { return transpose(reshape(x, {2, 3, 2, 2}), 1, 2); }

Variable attend(const Variable& q, const Variable& k, const Variable& v) {
  return scaled_dot_product_attention(q, k, v, {.causal = true});
}

void check_packed(const TapeFunction& f, const Dims& sizes = {2, 3, 12}) {
  const std::vector<Tensor> inputs{random_normal(sizes, 5)};
  // On a parameter, on a value of the tape, and beside another use that comes earlier or later.
  for (const TapeFunction& graph : std::initializer_list<TapeFunction>{
           f, [&](std::span<const Variable> in) { return f(std::array{scale(in[0], 0.7)}); },
           [&](std::span<const Variable> in) {
             const Variable x = scale(in[0], 0.7), y = f(std::array{x});
             return add(sum(mul(x, x)), y);
           },
           [&](std::span<const Variable> in) {
             const Variable x = scale(in[0], 0.7), early = sum(mul(x, x));
             return add(early, f(std::array{x}));
           }}) {
    const GradCheckResult result = check_gradients(graph, inputs);
    CAPTURE(result.message);
    CHECK(result.ok);
  }
}

}  // namespace

TEST_CASE("views: parts of one value in heads_of, as q, k and v") {
  check_packed([](std::span<const Variable> in) {
    const auto qkv = split(in[0], kThirds, -1);
    return attend(heads_of(qkv[0]), heads_of(qkv[1]), heads_of(qkv[2]));
  });
}

TEST_CASE("views: a part used by two consumers") {
  check_packed([](std::span<const Variable> in) {
    const auto qkv = split(in[0], kThirds, -1);
    const Variable shared = heads_of(qkv[1]);
    return add(attend(heads_of(qkv[0]), shared, shared), sum(mul(qkv[1], qkv[1])));
  });
  for (bool attention_first : {false, true}) {  // attention is the first or the second to write the gradient of a part
    check_packed([&](std::span<const Variable> in) {
      const auto qkv = split(in[0], kThirds, -1);
      const Variable shared = heads_of(qkv[1]);
      const Variable early = attention_first ? Variable() : mul(shared, shared);
      const Variable out = attend(heads_of(qkv[0]), shared, heads_of(qkv[2]));
      return add(out, attention_first ? mul(shared, shared) : early);
    });
  }
  check_packed([](std::span<const Variable> in) {  // every pair of views of one part, and the part itself
    const auto qkv = split(in[0], kThirds, -1);
    const Variable first = attend(heads_of(qkv[0]), heads_of(qkv[0]), heads_of(qkv[0]));
    return add(first, attend(heads_of(qkv[2]), heads_of(qkv[0]), heads_of(qkv[2])));
  });
}

TEST_CASE("views: q, k and v are one variable") {
  for (const Dims& sizes : {Dims{1, 2, 3, 2}, Dims{2, 1, 4, 3}}) {
    check_packed([](std::span<const Variable> in) { return attend(in[0], in[0], in[0]); }, sizes);
    check_packed([](std::span<const Variable> in) { return attend(in[0], transpose(in[0], 0, 0), in[0]); }, sizes);
  }
  check_packed([](std::span<const Variable> in) {
    const auto parts = split(in[0], kThirds, -1);
    const Variable x = reshape(parts[1], {2, 1, 3, 4});
    return attend(x, x, x);
  });
}

TEST_CASE("views: the whole and its parts are both used") {
  const auto whole = [](const Variable& x) { return transpose(reshape(x, {2, 3, 6, 2}), 1, 2); };  // (2, 6, 3, 2)
  check_packed([&](std::span<const Variable> in) {
    const auto qkv = split(in[0], kThirds, -1);
    const Variable parts = attend(heads_of(qkv[0]), heads_of(qkv[1]), heads_of(qkv[2]));
    return add(sum(mul(parts, parts)), attend(whole(in[0]), whole(in[0]), whole(in[0])));
  });
  check_packed([&](std::span<const Variable> in) {  // the other way round
    const Variable first = attend(whole(in[0]), whole(in[0]), whole(in[0]));
    const auto qkv = split(in[0], kThirds, -1);
    return add(sum(mul(first, first)), attend(heads_of(qkv[0]), heads_of(qkv[1]), heads_of(qkv[2])));
  });
  check_packed([&](std::span<const Variable> in) {  // in one op: six heads_of of the whole, two of each part
    const auto qkv = split(in[0], kThirds, -1);
    const Variable six =
        concat(std::span<const Variable>(std::array{heads_of(qkv[0]), heads_of(qkv[2]), heads_of(qkv[1])}), 1);
    return attend(whole(in[0]), six, whole(in[0]));
  });
}

TEST_CASE("views: two splits of one value, a split of a part, and splits along other axes") {
  check_packed([](std::span<const Variable> in) {
    const auto a = split(in[0], kThirds, -1), b = split(in[0], std::array<std::int64_t, 2>{8, 4}, -1);
    const auto c = split(b[0], std::array<std::int64_t, 2>{4, 4}, 2);
    return add(attend(heads_of(a[0]), heads_of(b[1]), heads_of(c[1])),
               attend(heads_of(c[0]), heads_of(a[2]), heads_of(a[1])));
  });
  check_packed([](std::span<const Variable> in) {
    const auto rows = split(in[0], std::array<std::int64_t, 2>{1, 1}, 0);
    const auto heads_of = [](const Variable& x) { return transpose(reshape(x, {1, 3, 6, 2}), 1, 2); };
    return attend(heads_of(rows[1]), heads_of(rows[0]), heads_of(rows[1]));
  });
}

TEST_CASE("views: unused parts have a gradient of zeros") {
  check_packed([](std::span<const Variable> in) {
    const auto qkv = split(in[0], kThirds, -1);
    return attend(heads_of(qkv[1]), heads_of(qkv[1]), heads_of(qkv[1]));
  });
  const Variable x = Variable::parameter(random_normal({2, 12}, 1));
  Tape tape;
  const auto parts = split(x.on(tape), kThirds, -1);
  tape.backward(sum(parts[1]));
  const std::vector<double> row{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0};
  CHECK(values_of(x.grad().slice(0, 0, 1)) == row);
  CHECK(values_of(x.grad().slice(0, 1, 2)) == row);
}

TEST_CASE("views: heads_of that do not lie densely") {
  // The last axis of q, k and v is not the innermost one of their memory.
  const auto turned = [](const Variable& x) { return transpose(reshape(x, {2, 3, 2, 2}), 1, 3); };
  check_packed([&](std::span<const Variable> in) {
    const auto qkv = split(in[0], kThirds, -1);
    return attend(turned(qkv[0]), turned(qkv[1]), turned(qkv[2]));
  });
}

TEST_CASE("views: a residual shares its gradient with the branch beside it") {
  check_packed([](std::span<const Variable> in) {
    const auto branch = [](const Variable& x) {
      const auto qkv = split(x, kThirds, -1);
      const Variable joined =
          reshape(transpose(attend(heads_of(qkv[0]), heads_of(qkv[1]), heads_of(qkv[2])), 1, 2), {2, 3, 4});
      return concat(std::span<const Variable>(std::array{joined, joined, joined}), -1);
    };
    const Variable x = add(in[0], branch(in[0]));
    return add(x, branch(x));
  });
  check_packed([](std::span<const Variable> in) { return add(in[0], tanh(in[0])); });
  check_packed([](std::span<const Variable> in) {
    const auto halves = split(in[0], std::array<std::int64_t, 2>{6, 6}, -1);
    const Variable y = add(halves[0], tanh(halves[1]));
    return add(add(y, halves[0]), mul(y, halves[1]));
  });
}

TEST_CASE("views: gradients gathered in a slab, through views") {
  const Variable x = Variable::parameter(random_normal({2, 3, 12}, 1));
  const Tensor expected = [&] {
    Tape tape;
    const auto qkv = split(x.on(tape), kThirds, -1);
    tape.backward(sum(mul(attend(heads_of(qkv[0]), heads_of(qkv[1]), heads_of(qkv[2])), heads_of(qkv[0]))));
    return x.grad().clone();
  }();
  const Tensor slab = Tensor::full({100}, DType::f64, NAN);
  x.rebind(Tensor::zeros({2, 3, 12}, DType::f64), slab.slice(0, 10, 82).reshape({2, 3, 12}));
  for (int round = 1; round <= 2; ++round) {
    Tape tape;
    const auto qkv = split(x.on(tape), kThirds, -1);
    tape.backward(sum(mul(attend(heads_of(qkv[0]), heads_of(qkv[1]), heads_of(qkv[2])), heads_of(qkv[0]))));
    CHECK(x.grad().shares_storage_with(slab));
    const Tensor twice = expected.clone();
    if (round == 2) twice.add_from(expected);
    CHECK(distance(x.grad(), twice) <= 1e-12);
  }
}

TEST_CASE("split: there may be more parts than a shape has axes") {
  Tape tape;
  const Variable x = Variable::parameter(random_normal({40, 2}, 1));
  const std::vector<std::int64_t> ones(40, 1);
  const auto parts = split(x.on(tape), ones, 0);
  REQUIRE(parts.size() == 40);
  CHECK(parts[39].value().to_vector<double>() == x.value().slice(0, 39, 40).to_vector<double>());
  CHECK_THROWS_WITH_AS(split(x.on(tape), std::vector<std::int64_t>(9, 1), 0),
                       "split: the parts (1, 1, 1, 1, 1, 1, 1, 1, 1) make 9, axis 0 of shape (40, 2) has 40", Error);
}
