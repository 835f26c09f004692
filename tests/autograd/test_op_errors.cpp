// Wrong inputs throw one line that says what, where, expected and got.
#include <array>
#include <functional>

#include "autograd/ops/ops.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

struct Operands {
  Tape tape{no_grad};
  Variable of(const Dims& sizes, DType dtype = DType::f64) {
    return Variable::constant(tape, Tensor::zeros(sizes, dtype));
  }
  Variable ids(std::initializer_list<std::int32_t> values) {
    return Variable::constant(tape, Tensor::from(values, {static_cast<std::int64_t>(values.size())}));
  }
};

}  // namespace

TEST_CASE("errors: arithmetic") {
  Operands in;
  CHECK_THROWS_WITH_AS(add(in.of({2, 3}), in.of({2, 4})),
                       "add: a is (2, 3), b is (2, 4): sizes 3 and 4 cannot be broadcast together", Error);
  CHECK_THROWS_WITH_AS(div(in.of({2, 3}), in.of({3, 3})),
                       "div: a is (2, 3), b is (3, 3): sizes 2 and 3 cannot be broadcast together", Error);
  CHECK_THROWS_WITH_AS(mul(in.of({2}), in.of({2}, DType::f32)), "mul: a is f64, b is f32", Error);
  CHECK_THROWS_WITH_AS(exp(in.ids({1})), "exp: expected f32 or f64, got i32", Error);
}

TEST_CASE("errors: name the function that was called, not one that it is made of") {
  const auto zeros = [](const Dims& sizes) { return Variable::parameter(Tensor::zeros(sizes, DType::f64)); };
  const Variable w = zeros({2, 3}), b = zeros({3});
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"add", [&] { add(w, b); }},
      {"sub", [&] { w - b; }},
      {"minimum", [&] { minimum(w, b); }},
      {"neg", [&] { -w; }},
      {"div", [&] { 1 / w; }},
      {"sum", [&] { sum(w); }},
      {"mean", [&] { mean(w); }},
      {"mean", [&] { mean(w, 0); }},
      {"transpose", [&] { transpose(w, 0, 1); }},
      {"matmul",
       [&] {
         matmul(zeros({1, 2, 3}), zeros({3, 2}));
       }},
      {"matmul",
       [&] {
         matmul(w, zeros({4, 3, 2}));
       }},
      {"feed_forward",
       [&] {
         feed_forward(w, {zeros({4, 3}), {}, zeros({3, 4}), {}}, ActivationKind::relu);
       }},
      {"packed_self_attention", [&] {
         packed_self_attention(zeros({1, 2, 3}), 1, {});
       }}};
  for (const auto& [name, call] : calls) {
    const std::string message =
        str_cat(name, ": no input is on a tape; put one there with Variable::constant or Variable::on");
    CHECK_THROWS_WITH_AS(call(), message.c_str(), Error);
  }
  Operands in;
  CHECK_THROWS_WITH_AS(mean(in.of({2, 3}), 2), "mean: axis 2 is out of range for shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(minimum(in.of({2, 3}), in.of({2, 4})),
                       "minimum: a is (2, 3), b is (2, 4): sizes 3 and 4 cannot be broadcast together", Error);
  CHECK_THROWS_WITH_AS(clamp(in.of({2}), 1, 0), "clamp: expected low <= high, got 1 and 0", Error);
}

TEST_CASE("arithmetic: a parameter that needs broadcasting follows the other input onto its tape") {
  const Variable b = Variable::parameter(Tensor::full({3}, DType::f64, 2));
  Tape tape;
  const Variable x = Variable::constant(tape, Tensor::full({2, 3}, DType::f64, 3));
  tape.backward(sum(mul(x, b)));
  CHECK(values_of(b.grad()) == std::vector<double>{6, 6, 6});
  const Variable w = Variable::parameter(Tensor::full({3, 2}, DType::f64, 1));
  Tape other;
  other.backward(sum(matmul(w, Variable::constant(other, Tensor::full({4, 2, 1}, DType::f64, 1)))));
  CHECK(values_of(w.grad()) == std::vector<double>(6, 4));
}

TEST_CASE("errors: views") {
  Operands in;
  const Variable x = in.of({2, 3});
  CHECK_THROWS_WITH_AS(transpose(x, 0, 2), "transpose: axis 2 is out of range for shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(permute(x, {0, 0}), "permute: axis 0 stands twice in order (0, 0)", Error);
  CHECK_THROWS_WITH_AS(permute(x, {0}), "permute: order (0) has 1 axes, the shape (2, 3) has 2", Error);
  CHECK_THROWS_WITH_AS(slice(x, 1, 2, 4), "slice: 2 to 4 is out of range for axis 1 of shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(slice(x, 1, 0, 2, 0), "slice: step is 0, expected at least 1", Error);
  CHECK_THROWS_WITH_AS(expand(x, {3, 3}), "expand: cannot expand (2, 3) to (3, 3): size 2 against 3", Error);
  CHECK_THROWS_WITH_AS(reshape(x, {4, -1}), "reshape: cannot view (2, 3) (6 elements) as (4, -1)", Error);
  CHECK_THROWS_WITH_AS(split(x, std::array<std::int64_t, 2>{1, 1}, 1),
                       "split: the parts (1, 1) make 2, axis 1 of shape (2, 3) has 3", Error);
  const auto join = [](const Variable& a, const Variable& b, int axis) {
    return concat(std::span<const Variable>(std::array{a, b}), axis);
  };
  CHECK_THROWS_WITH_AS(join(x, in.of({3, 3}), 1), "concat: parts of shape (3, 3) and (2, 3) differ outside of axis 1",
                       Error);
  CHECK_THROWS_WITH_AS(join(x, in.of({2, 3, 1}), 1),
                       "concat: parts of shape (2, 3, 1) f64 and (2, 3) f64 do not fit together", Error);
  CHECK_THROWS_WITH_AS(join(x, in.of({2, 3}, DType::f32), 1),
                       "concat: parts of shape (2, 3) f32 and (2, 3) f64 do not fit together", Error);
  CHECK_THROWS_WITH_AS(join(x, x, 2), "concat: axis 2 is out of range for shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(concat(std::span<const Variable>(), 0), "concat: no parts", Error);
}

TEST_CASE("errors: feed_forward") {
  Operands in;
  const Variable x = in.of({2, 3}), none;
  CHECK_THROWS_WITH_AS(feed_forward(x, {in.of({5, 3}), none, in.of({3, 4}), none}, ActivationKind::relu),
                       "feed_forward: the first weight is (5, 3), the second (3, 4): expected (hidden, in) and (out, "
                       "hidden)",
                       Error);
  CHECK_THROWS_WITH_AS(feed_forward(x, {in.of({5, 3}), in.of({4}), in.of({3, 5}), none}, ActivationKind::relu),
                       "feed_forward: weight is (5, 3), bias is (4): expected bias (5)", Error);
  CHECK_THROWS_WITH_AS(feed_forward(x, {in.of({5, 3}), none, in.of({3, 5}), in.of({5})}, ActivationKind::relu),
                       "feed_forward: the second weight is (3, 5), its bias (5): expected (3)", Error);
}

TEST_CASE("errors: reductions and softmax") {
  Operands in;
  CHECK_THROWS_WITH_AS(sum(in.of({2, 3}), 2), "sum: axis 2 is out of range for shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(max(in.of({2, 3}), -3), "max: axis -3 is out of range for shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(max(in.of({2, 0}), 1), "max: axis 1 of shape (2, 0) is empty", Error);
  CHECK_THROWS_WITH_AS(softmax(in.of({})), "softmax: expected at least one axis, got a scalar", Error);
  CHECK_THROWS_WITH_AS(log_softmax(in.of({})), "log_softmax: expected at least one axis, got a scalar", Error);
}

TEST_CASE("errors: matrix products") {
  Operands in;
  CHECK_THROWS_WITH_AS(matmul(in.of({2, 3}), in.of({4, 5})),
                       "matmul: a is (2, 3), b is (4, 5): inner sizes 3 and 4 differ", Error);
  CHECK_THROWS_WITH_AS(matmul(in.of({3}), in.of({3, 5})), "matmul: a is (3), b is (3, 5): expected two axes or more",
                       Error);
  CHECK_THROWS_WITH_AS(matmul(in.of({2, 2, 3}), in.of({3, 3, 5})),
                       "matmul: a is (2), b is (3): sizes 2 and 3 cannot be broadcast together", Error);
  CHECK_THROWS_WITH_AS(matmul(in.of({2, 3}), in.of({3, 2}, DType::f32)), "matmul: a is f64, b is f32", Error);
  CHECK_THROWS_WITH_AS(linear(in.of({2, 3}), in.of({4, 5}), {}),
                       "linear: x is (2, 3), weight is (4, 5): expected x (..., in) and weight (out, in)", Error);
  CHECK_THROWS_WITH_AS(linear(in.of({2, 3}), in.of({4, 3}), in.of({3})),
                       "linear: weight is (4, 3), bias is (3): expected bias (4)", Error);
}

TEST_CASE("errors: layers") {
  Operands in;
  CHECK_THROWS_WITH_AS(embedding(in.of({4, 2}), in.ids({0, 3, 4})),
                       "embedding: id 4 at place 2 is outside of the table's 4 rows", Error);
  CHECK_THROWS_WITH_AS(embedding(in.of({4, 2}), in.ids({-1})),
                       "embedding: id -1 at place 0 is outside of the table's 4 rows", Error);
  CHECK_THROWS_WITH_AS(embedding(in.of({4, 2}), in.of({1})),
                       "embedding: expected a table (rows, dim) and i32 ids, got (4, 2) and f64", Error);
  CHECK_THROWS_WITH_AS(dropout(in.of({1}), 1), "dropout: expected 0 <= p < 1, got 1", Error);
  CHECK_THROWS_WITH_AS(dropout(in.of({1}), -0.5), "dropout: expected 0 <= p < 1, got -0.5", Error);
  CHECK_THROWS_WITH_AS(layer_norm(in.of({2, 3}), in.of({2}), {}, 1e-5),
                       "layer_norm: x is (2, 3), gamma is (2): expected gamma of the last axis's size", Error);
  CHECK_THROWS_WITH_AS(layer_norm(in.of({2, 3}), in.of({3}), in.of({2}), 1e-5),
                       "layer_norm: gamma is (3), beta is (2): expected the same", Error);
  CHECK_THROWS_WITH_AS(rms_norm(in.of({2, 3}), in.of({2}), 1e-5),
                       "rms_norm: x is (2, 3), gamma is (2): expected gamma of the last axis's size", Error);
}

TEST_CASE("errors: attention to a cache") {
  const Tensor q = Tensor::zeros({2, 2, 1, 4}, DType::f64), k = Tensor::zeros({2, 2, 5, 4}, DType::f64);
  CHECK_NOTHROW(cached_attention(q, k, k, {.key_lengths = Tensor::full({2}, DType::i32, 5)}));
  CHECK_THROWS_WITH_AS(cached_attention(q, k, k, {.key_lengths = Tensor::full({1}, DType::i32, 5)}),
                       "cached_attention: expected key_lengths i32 (2), got i32 (1)", Error);
  CHECK_THROWS_AS(cached_attention(q, k, k.slice(2, 0, 4), {}), Error);
}

TEST_CASE("errors: attention") {
  Operands in;
  const auto attend = [&](const Dims& q, const Dims& k, const Dims& v, const AttentionOptions& options) {
    return scaled_dot_product_attention(in.of(q), in.of(k), in.of(v), options);
  };
  CHECK_THROWS_WITH_AS(attend({1, 2, 3, 4}, {1, 2, 3, 5}, {1, 2, 3, 4}, {}),
                       "scaled_dot_product_attention: q is (1, 2, 3, 4), k is (1, 2, 3, 5), v is (1, 2, 3, 4): "
                       "expected (B, h, T_q, d_k), (B, g, T_k, d_k) and (B, g, T_k, d_v), where g divides h",
                       Error);
  CHECK_THROWS_AS(attend({1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 4, 4}, {}), Error);
  CHECK_THROWS_AS(attend({1, 2, 3, 4}, {2, 2, 3, 4}, {1, 2, 3, 4}, {}), Error);
  CHECK_THROWS_AS(attend({2, 3, 4}, {2, 3, 4}, {2, 3, 4}, {}), Error);
  CHECK_THROWS_AS(attend({1, 3, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, {}), Error);
  CHECK_THROWS_AS(attend({1, 0, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, {}), Error);
  CHECK_THROWS_AS(attend({1, 2, 3, 4}, {1, 2, 3, 4}, {1, 1, 3, 4}, {}), Error);
  const Dims fits{2, 1, 3, 4};
  CHECK_THROWS_WITH_AS(attend(fits, fits, fits, {.key_lengths = Tensor::zeros({3}, DType::i32)}),
                       "scaled_dot_product_attention: expected key_lengths i32 (2), got i32 (3)", Error);
  CHECK_THROWS_WITH_AS(attend(fits, fits, fits, {.key_lengths = Tensor::zeros({2}, DType::f32)}),
                       "scaled_dot_product_attention: expected key_lengths i32 (2), got f32 (2)", Error);
  const auto key_begin = [](std::initializer_list<std::int32_t> keys, const Dims& sizes, bool causal = true) {
    return AttentionOptions{.causal = causal, .key_begin = Tensor::from(keys, sizes)};
  };
  CHECK_NOTHROW(attend(fits, fits, fits, key_begin({0, 1, 2, 0, 0, 2}, {2, 3})));
  CHECK_NOTHROW(attend({1, 1, 3, 4}, {1, 1, 2, 4}, {1, 1, 2, 4}, key_begin({0, 0, 1}, {1, 3})));
  CHECK_THROWS_WITH_AS(attend(fits, fits, fits, key_begin({0, 0, 0}, {1, 3})),
                       "scaled_dot_product_attention: expected key_begin i32 (2, 3), got i32 (1, 3)", Error);
  CHECK_THROWS_WITH_AS(attend(fits, fits, fits, {.key_begin = Tensor::zeros({2, 3}, DType::f64)}),
                       "scaled_dot_product_attention: expected key_begin i32 (2, 3), got f64 (2, 3)", Error);
  CHECK_THROWS_WITH_AS(attend(fits, fits, fits, key_begin({0, 1, 2, 0, 2, 2}, {2, 3})),
                       "scaled_dot_product_attention: expected key_begin of 0 to 1 for query 1 of row 1, got 2", Error);
  CHECK_THROWS_WITH_AS(attend(fits, fits, fits, key_begin({0, 1, 0, 0, 0, 0}, {2, 3})),
                       "scaled_dot_product_attention: expected key_begin of 1 to 2 for query 2 of row 0, got 0", Error);
  CHECK_THROWS_WITH_AS(attend(fits, fits, fits, key_begin({-1, 0, 0, 0, 0, 0}, {2, 3}, false)),
                       "scaled_dot_product_attention: expected key_begin of 0 to 2 for query 0 of row 0, got -1",
                       Error);
  CHECK_THROWS_WITH_AS(attend(fits, fits, fits, key_begin({0, 0, 3, 0, 0, 0}, {2, 3}, false)),
                       "scaled_dot_product_attention: expected key_begin of 0 to 2 for query 2 of row 0, got 3", Error);
  CHECK_THROWS_WITH_AS(attend(fits, fits, fits, {.dropout = 1}),
                       "scaled_dot_product_attention: expected 0 <= dropout < 1, got 1", Error);
  CHECK_THROWS_WITH_AS(packed_self_attention(in.of({2, 3, 10}), 2, {}),
                       "packed_self_attention: qkv is (2, 3, 10): expected (B, T, (h + 2 g) d) with h = 2 heads and "
                       "g = 2 for k and v",
                       Error);
  CHECK_THROWS_AS(packed_self_attention(in.of({2, 3, 14}), {3, 2}, {}), Error);
  CHECK_THROWS_WITH_AS(packed_cross_attention(in.of({2, 3, 4}), in.of({2, 5, 6}), 2, {}),
                       "packed_cross_attention: q is (2, 3, 4), kv is (2, 5, 6): expected (B, T_q, h d) and "
                       "(B, T_k, 2 g d) with h = 2 heads and g = 2 for k and v",
                       Error);
  const auto transform = [&](const Dims& x, const Dims& weight, const Rotation& rotation) {
    return transform_heads(in.of(x), weight.empty() ? Variable() : in.of(weight), 2, {.rotation = rotation});
  };
  const Tensor table = rotation_table(0, 3, rotation_angles(2, 10), DType::f64);
  CHECK_THROWS_WITH_AS(transform({2, 3, 5}, {}, {}),
                       "transform_heads: x is (2, 3, 5): expected (B, T, h d) with h = 2 heads", Error);
  CHECK_THROWS_WITH_AS(transform({2, 3, 4}, {4}, {}),
                       "transform_heads: the heads are 2 wide, their norm's weight is (4): expected (2)", Error);
  CHECK_THROWS_WITH_AS(transform({2, 3, 6}, {}, {table}),
                       "transform_heads: expected heads of even width to turn, got 3", Error);
  CHECK_THROWS_WITH_AS(transform({2, 4, 4}, {}, {table}),
                       "transform_heads: rows are (2, 4, 4), their heads 2 wide, the table of rotations is (3, 2): "
                       "expected (4, 2)",
                       Error);
  CHECK_THROWS_WITH_AS(transform({2, 3, 4}, {}, {table.to(DType::f32)}),
                       "transform_heads: x is f64, the table of rotations f32", Error);
  CHECK_THROWS_WITH_AS(transform({2, 3, 4}, {}, {table, Tensor::zeros({2, 2}, DType::i32)}),
                       "transform_heads: expected positions i32 (2, 3), got i32 (2, 2)", Error);
  const Tensor outside = Tensor::zeros({2, 3}, DType::i32);
  outside.data<std::int32_t>()[4] = 3;
  CHECK_THROWS_WITH_AS(transform({2, 3, 4}, {}, {table, outside}),
                       "transform_heads: expected positions of 0 to 2, got 3", Error);
  const auto additive = [&](const Dims& q, const Dims& k, const Dims& w, const Dims& v, const Tensor& lengths = {}) {
    return additive_attention(in.of(q), in.of(k), in.of(w), in.of(v), lengths);
  };
  CHECK_THROWS_WITH_AS(additive({2, 3, 4}, {2, 5, 4}, {4}, {2, 6, 4}),
                       "additive_attention: q is (2, 3, 4), k is (2, 5, 4), v is (2, 6, 4): "
                       "expected (B, T_q, d), (B, T_k, d) and (B, T_k, d_v)",
                       Error);
  CHECK_THROWS_WITH_AS(additive({2, 3, 4}, {2, 5, 4}, {3}, {2, 5, 4}),
                       "additive_attention: weight is (3): expected (4)", Error);
  CHECK_THROWS_WITH_AS(additive({2, 3, 4}, {2, 5, 4}, {4}, {2, 5, 4}, Tensor::from<std::int32_t>({1}, {1})),
                       "additive_attention: expected key_lengths i32 (2), got i32 (1)", Error);
}

TEST_CASE("errors: losses") {
  Operands in;
  const Variable x = in.of({2, 3}), weight = in.of({5, 3});
  CHECK_THROWS_WITH_AS(cross_entropy(in.of({2, 2, 3}), in.ids({0, 1}), {}),
                       "cross_entropy: expected logits (N, V), got (2, 2, 3)", Error);
  CHECK_THROWS_WITH_AS(cross_entropy(x, in.ids({0, 3}), {}),
                       "cross_entropy: target 3 is outside of the vocabulary of 3", Error);
  CHECK_THROWS_WITH_AS(cross_entropy(x, in.ids({0}), {}), "cross_entropy: expected i32 targets (2), got i32 (1)",
                       Error);
  CHECK_THROWS_WITH_AS(cross_entropy(x, in.of({2}), {}), "cross_entropy: expected i32 targets (2), got f64 (2)", Error);
  CHECK_THROWS_WITH_AS(cross_entropy(x, in.ids({0, 1}), {.smoothing = 1}),
                       "cross_entropy: expected 0 <= smoothing < 1, got 1", Error);
  CHECK_THROWS_WITH_AS(cross_entropy(in.of({0, 3}), in.ids({}), {}), "cross_entropy: no rows", Error);
  CHECK_THROWS_WITH_AS(linear_cross_entropy(x, in.of({5, 4}), {}, in.ids({0, 1}), {}),
                       "linear_cross_entropy: x is (2, 3), weight is (5, 4): expected x (N, dim) and weight (V, dim)",
                       Error);
  CHECK_THROWS_WITH_AS(linear_cross_entropy(x, weight, in.of({4}), in.ids({0, 1}), {}),
                       "linear_cross_entropy: weight is (5, 3), bias is (4): expected bias (5)", Error);
  CHECK_THROWS_WITH_AS(linear_cross_entropy(x, weight, {}, in.ids({0, 5}), {}),
                       "linear_cross_entropy: target 5 is outside of the vocabulary of 5", Error);
}

TEST_CASE("errors: convolution") {
  Operands in;
  CHECK_THROWS_WITH_AS(
      conv2d(in.of({2, 3, 4, 4}), in.of({5, 2, 3, 3}), {}),
      "conv2d: x is (2, 3, 4, 4), weight is (5, 2, 3, 3): expected x (B, C, H, W) and weight (O, C, k, k)", Error);
  CHECK_THROWS_WITH_AS(conv2d(in.of({2, 3, 4, 4}), in.of({5, 3, 3, 3}), in.of({4})),
                       "conv2d: weight is (5, 3, 3, 3), bias is (4): expected bias (5)", Error);
  CHECK_THROWS_WITH_AS(conv2d(in.of({2, 3, 4, 4}), in.of({5, 3, 7, 7}), {}, {.padding = 1}),
                       "conv2d: x is (2, 3, 4, 4), which is smaller with a padding of 1 than a window of 7 by 7",
                       Error);
  CHECK_THROWS_WITH_AS(unfold(in.of({3, 4, 4}), {}), "unfold: x is (3, 4, 4): expected images (B, C, H, W)", Error);
  CHECK_THROWS_WITH_AS(
      unfold(in.of({1, 3, 4, 4}), {2, 0, 0}),
      "unfold: expected a kernel and a stride of at least 1 and a padding of at least 0, got 2, 0 and 0", Error);
  CHECK_THROWS_WITH_AS(max_pool2d(in.of({1, 3, 4, 4}), {2, 2, 2}),
                       "max_pool2d: expected a padding of at most half of the kernel of 2, got 2", Error);
}
