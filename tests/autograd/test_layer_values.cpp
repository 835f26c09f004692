// Forward values of embedding, dropout, attention and the losses, and what they promise at the edges.
#include <array>
#include <vector>

#include "autograd/ops/ops.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

Tensor ids(std::initializer_list<std::int32_t> values, const Dims& sizes) { return Tensor::from(values, sizes); }

bool all_zero(const Tensor& x) {
  return std::ranges::all_of(values_of(x), [](double value) { return value == 0; });
}

}  // namespace

TEST_CASE("embedding: rows by id, of strided tables and ids") {
  Tape tape(no_grad);
  const Tensor table = random_normal({3, 8}, 1).slice(1, 0, 8, 2).transpose(0, 1);  // (4, 3)
  const Tensor which = ids({3, 0, 0, 1, 2, 3}, {2, 3}).transpose(0, 1);             // 3 1, 0 2, 0 3
  const Tensor y = embedding(Variable::constant(tape, table), Variable::constant(tape, which)).value();
  CHECK(y.sizes() == Dims{3, 2, 3});
  int place = 0;
  for (int id : {3, 1, 0, 2, 0, 3}) {
    const Tensor row = y.reshape({6, 3}).slice(0, place, place + 1);
    CHECK(distance(row, table.slice(0, id, id + 1)) == 0);
    ++place;
  }
}

TEST_CASE("dropout: zeroes a share p and scales the rest while training, and is x itself otherwise") {
  const Tensor x = Tensor::full({100, 100}, DType::f64, 3);
  Tape tape({.training = true, .random = {.seed = 4}}), evaluating;
  const Variable in = Variable::constant(tape, x);
  for (double p : {0.1, 0.5}) {
    int zeros = 0;
    for (double value : values_of(dropout(in, p).value())) {
      zeros += value == 0;
      if (value != 0) CHECK(value == doctest::Approx(3 / (1 - p)));
    }
    CHECK(zeros == doctest::Approx(10000 * p).epsilon(0.06));
  }
  CHECK(dropout(in, 0).value().shares_storage_with(x));
  CHECK(dropout(Variable::constant(evaluating, x), 0.5).value().shares_storage_with(x));
}

TEST_CASE("scaled_dot_product_attention: a causal row of equal scores is the mean of the values so far") {
  Tape tape(no_grad);
  const auto constant = [&](const Tensor& x) { return Variable::constant(tape, x); };
  const Tensor v = random_normal({1, 2, 4, 3}, 1), zero = Tensor::zeros({1, 2, 4, 5}, DType::f64);
  const Tensor y = scaled_dot_product_attention(constant(zero), constant(zero), constant(v), {.causal = true}).value();
  CHECK(y.sizes() == Dims{1, 2, 4, 3});
  for (std::int64_t i = 0; i < 4; ++i) {
    const Tensor so_far = mean(constant(v.slice(2, 0, i + 1)), 2, true).value();
    CHECK(distance(y.slice(2, i, i + 1), so_far) < 1e-14);
  }
}

TEST_CASE("scaled_dot_product_attention: joining the heads is a view") {
  Tape tape(no_grad);
  const Variable x = Variable::constant(tape, random_normal({2, 3, 5, 4}, 1));
  const Tensor y = scaled_dot_product_attention(x, x, x, {}).value();
  CHECK_FALSE(y.is_contiguous());
  CHECK(y.transpose(1, 2).is_contiguous());
  CHECK(y.transpose(1, 2).reshape({2, 5, 12}).shares_storage_with(y));
}

TEST_CASE("scaled_dot_product_attention: keys that no query may see change nothing, queries that see none give zeros") {
  const Dims sizes{2, 2, 4, 3};
  const AttentionOptions options{.causal = true, .key_lengths = ids({2, 0}, {2})};
  std::vector<Tensor> inputs{random_normal(sizes, 1), random_normal(sizes, 2), random_normal(sizes, 3)};
  const auto attend = [&](std::span<const Variable> in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], options);
  };
  const Evaluation before = evaluate(attend, inputs);
  CHECK(all_zero(before.value.slice(0, 1, 2)));
  for (const Tensor& gradient : before.gradients) CHECK(all_zero(gradient.slice(0, 1, 2)));
  for (std::size_t i : {1, 2}) {
    CHECK(all_zero(before.gradients[i].slice(2, 2, 4)));
    inputs[i].slice(2, 2, 4).copy_from(Tensor::full({2, 2, 2, 3}, DType::f64, 1e30));
    inputs[i].slice(0, 1, 2).copy_from(Tensor::full({1, 2, 4, 3}, DType::f64, NAN));
  }
  const Evaluation after = evaluate(attend, inputs);
  CHECK(values_of(before.value) == values_of(after.value));
  for (std::size_t i = 0; i < 3; ++i) CHECK(values_of(before.gradients[i]) == values_of(after.gradients[i]));
}

TEST_CASE("scaled_dot_product_attention: more queries than keys, causally: the first queries see nothing") {
  const std::vector<Tensor> inputs{random_normal({1, 1, 5, 2}, 1), random_normal({1, 1, 3, 2}, 2),
                                   random_normal({1, 1, 3, 2}, 3)};
  const Evaluation got = evaluate(
      [](std::span<const Variable> in) { return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = true}); },
      inputs);
  CHECK(all_zero(got.value.slice(2, 0, 2)));
  CHECK(all_zero(got.gradients[0].slice(2, 0, 2)));
  CHECK(distance(got.value.slice(2, 2, 3), inputs[2].slice(2, 0, 1)) < 1e-15);
}

TEST_CASE("cross_entropy: log of the vocabulary for equal logits, and no more than the scored rows count") {
  Tape tape(no_grad);
  const auto constant = [&](const Tensor& x) { return Variable::constant(tape, x); };
  const Variable equal = constant(Tensor::full({3, 7}, DType::f64, 2.5));
  const Variable targets = constant(ids({6, -1, 0}, {3}));
  CHECK(cross_entropy(equal, targets, {}).value().item() == doctest::Approx(std::log(7)));
  CHECK(cross_entropy(equal, targets, {.smoothing = 0.3}).value().item() == doctest::Approx(std::log(7)));
  CHECK(cross_entropy(equal, targets, {.normalizer = 8}).value().item() == doctest::Approx(std::log(7) / 4));
  // By hand: logits (0, ln 3) give probabilities (1/4, 3/4).
  const Variable two = constant(Tensor::from<double>({0, std::log(3)}, {1, 2}));
  const Variable second = constant(ids({1}, {1}));
  CHECK(cross_entropy(two, second, {}).value().item() == doctest::Approx(-std::log(0.75)));
  CHECK(cross_entropy(two, second, {.smoothing = 0.2}).value().item() ==
        doctest::Approx(-0.9 * std::log(0.75) - 0.1 * std::log(0.25)));
  // Strided targets and logits.
  const Variable every_other = constant(ids({6, 99, -1, 99, 0, 99}, {6}).slice(0, 0, 6, 2));
  const Tensor logits = random_normal({7, 3}, 1);
  CHECK(cross_entropy(constant(logits.transpose(0, 1)), every_other, {}).value().item() ==
        doctest::Approx(cross_entropy(constant(logits.transpose(0, 1).clone()), targets, {}).value().item()));
}

TEST_CASE("cross_entropy and linear_cross_entropy: with every target ignored loss and gradients are 0") {
  const Tensor none = ids({-1, -1}, {2});
  const std::vector<Tensor> logits{random_normal({2, 5}, 1), none};
  const std::vector<Tensor> factors{random_normal({2, 3}, 1), random_normal({5, 3}, 2), random_normal({5}, 3), none};
  const Evaluation plain =
      evaluate([](std::span<const Variable> in) { return cross_entropy(in[0], in[1], {.smoothing = 0.1}); }, logits);
  const Evaluation fused = evaluate(
      [](std::span<const Variable> in) { return linear_cross_entropy(in[0], in[1], in[2], in[3], {.smoothing = 0.1}); },
      factors);
  CHECK(plain.value.item() == 0);
  CHECK(all_zero(plain.gradients[0]));
  CHECK(fused.value.item() == 0);
  for (int i = 0; i < 3; ++i) CHECK(all_zero(fused.gradients[i]));
}

TEST_CASE("linear, lora_linear, feed_forward, matmul: over an inner axis of size 0 the products are 0") {
  {
    std::vector<Tensor> before;  // their memory is used again, and holds other numbers than 0
    for (int i = 0; i < 16; ++i) before.push_back(Tensor::full({3, 4}, DType::f64, 7));
  }
  const auto parameter = [](const Dims& sizes) { return Variable::parameter(random_normal(sizes, 1)); };
  const Variable x = parameter({3, 0}), weight = parameter({4, 0}), bias = parameter({4}), wide = parameter({3, 6});
  const Variable a = parameter({2, 0}), b = parameter({4, 2}), up = parameter({0, 6}), row = parameter({0});
  const Tensor expected = bias.value().expand({3, 4});
  Tape tape;
  const Variable linear_y = linear(x.on(tape), weight, bias);
  CHECK(distance(linear_y.value(), expected) == 0);
  CHECK(distance(linear(row.on(tape), weight, bias).value(), bias.value()) == 0);
  const Variable lora_y = lora_linear(x.on(tape), weight, bias, x.on(tape), {a, b, {{0, 4}}, 0.5});
  CHECK(distance(lora_y.value(), expected) == 0);
  Variable total = add(linear_y, lora_y);
  for (const ActivationKind kind : {ActivationKind::relu, ActivationKind::swiglu}) {
    const Variable y = feed_forward(wide.on(tape), {up, Variable(), weight, bias}, kind);
    CHECK(distance(y.value(), expected) == 0);
    total = add(total, y);
  }
  const Variable product = matmul(reshape(x.on(tape), {1, 3, 0}), reshape(x.on(tape), {0, 3}));
  CHECK(product.sizes() == Dims{1, 3, 3});
  CHECK(all_zero(product.value()));

  tape.backward(add(sum(total), sum(product)));
  CHECK(values_of(bias.grad()) == std::vector<double>(4, 4 * 3));
  CHECK(all_zero(wide.grad()));
  CHECK(all_zero(b.grad()));
  for (const Variable& empty : {x, weight, a, up}) CHECK(empty.grad().sizes() == empty.sizes());
}

TEST_CASE("layer_norm: rows have mean beta and deviation gamma") {
  Tape tape(no_grad);
  const auto constant = [&](const Tensor& x) { return Variable::constant(tape, x); };
  const Variable x = constant(random_normal({50, 3}, 1).transpose(0, 1));
  const Tensor gamma = Tensor::full({50}, DType::f64, 2), beta = Tensor::full({50}, DType::f64, 5);
  const Variable y = layer_norm(x, constant(gamma), constant(beta), 0);
  for (double value : values_of(mean(y, -1).value())) CHECK(value == doctest::Approx(5));
  const Variable centered = add_scalar(y, -5);
  for (double value : values_of(mean(mul(centered, centered), -1).value())) CHECK(value == doctest::Approx(4));
}
