// Each fused op against its twin made of elementary ops: values and all gradients.
#include <array>
#include <cmath>
#include <numbers>

#include "autograd/ops/ops.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

using Inputs = std::span<const Variable>;

Tensor full(const Dims& sizes, DType dtype, double value) { return Tensor::full(sizes, dtype, value); }

// Additive mask (B, 1, T_q, T_k): 0 where key j may be seen, −∞ elsewhere.
Tensor attention_mask(std::int64_t batches, std::int64_t queries, std::int64_t keys, const AttentionOptions& options) {
  const Tensor mask = full({batches, 1, queries, keys}, DType::f64, 0);
  double* place = mask.data<double>();
  const std::vector<std::int32_t> key_begin = options.key_begin.defined()
                                                  ? options.key_begin.to_vector<std::int32_t>()
                                                  : std::vector<std::int32_t>(batches * queries, 0);
  for (std::int64_t b = 0; b < batches; ++b) {
    const std::int64_t length = options.key_lengths.defined()
                                    ? options.key_lengths.to_vector<std::int32_t>()[static_cast<std::size_t>(b)]
                                    : keys;
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j, ++place) {
        if (j >= length || (options.causal && j > i + keys - queries) || j < key_begin[b * queries + i]) {
          *place = -INFINITY;
        }
      }
    }
  }
  return mask;
}

Variable attention_twin(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options) {
  const double factor = options.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.size(-1))) : options.scale;
  const Variable scores = scale(matmul(q, transpose(k, -1, -2)), factor);
  const Variable masked = add(scores, beside(q, attention_mask(q.size(0), q.size(2), k.size(2), options)));
  return matmul(dropout(softmax(masked), options.dropout), v);
}

void check_attention(std::int64_t batches, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                     std::int64_t dim, std::int64_t value_dim, const AttentionOptions& options) {
  CAPTURE(queries);
  CAPTURE(keys);
  const std::vector<Tensor> inputs{random_normal({batches, heads, queries, dim}, 1),
                                   random_normal({batches, heads, keys, dim}, 2),
                                   random_normal({batches, heads, keys, value_dim}, 3)};
  const TapeOptions training{.training = true, .random = {.seed = 5, .step = 2}};
  check_twins([&](Inputs in) { return scaled_dot_product_attention(in[0], in[1], in[2], options); },
              [&](Inputs in) { return attention_twin(in[0], in[1], in[2], options); }, inputs, training);
}

}  // namespace

TEST_CASE("scaled_dot_product_attention: agrees with its composite twin") {
  const Tensor lengths = Tensor::from<std::int32_t>({5, 0, 3}, {3}), beyond = Tensor::from<std::int32_t>({9, 70}, {2});
  check_attention(3, 2, 5, 5, 4, 4, {});
  check_attention(3, 2, 5, 5, 4, 3, {.causal = true});
  check_attention(3, 2, 5, 7, 4, 4, {.causal = true, .key_lengths = lengths});
  check_attention(3, 2, 7, 5, 4, 4, {.causal = true, .scale = 0.8});
  check_attention(3, 2, 5, 6, 4, 4, {.key_lengths = lengths, .dropout = 0.3});
  check_attention(1, 1, 1, 1, 1, 1, {});
  check_attention(1, 3, 1, 33, 8, 8, {.causal = true});
  check_attention(2, 2, 70, 70, 16, 16, {.causal = true, .key_lengths = beyond, .dropout = 0.2});
  check_attention(1, 2, 130, 200, 8, 24, {.causal = true, .dropout = 0.1});
  const Tensor key_begin = Tensor::empty({2, 70}, DType::i32);
  for (std::int32_t i = 0; i < 70; ++i) {
    key_begin.data<std::int32_t>()[i] = i / 9 * 9;
    key_begin.data<std::int32_t>()[70 + i] = i < 66 ? i / 33 * 33 : i;
  }
  check_attention(2, 2, 70, 70, 16, 16, {.causal = true, .key_begin = key_begin, .dropout = 0.2});
  check_attention(2, 2, 70, 80, 16, 16, {.key_lengths = beyond, .key_begin = key_begin});
}

TEST_CASE("scaled_dot_product_attention: one variable as query, key and value") {
  const std::vector<Tensor> inputs{random_normal({2, 2, 6, 4}, 1)};
  check_twins([](Inputs in) { return scaled_dot_product_attention(in[0], in[0], in[0], {.causal = true}); },
              [](Inputs in) { return attention_twin(in[0], in[0], in[0], {.causal = true}); }, inputs);
}

TEST_CASE("additive_attention: agrees with its composite twin") {
  constexpr std::int64_t kBatches = 3, kQueries = 2, kKeys = 5, kDim = 19;
  const Tensor lengths = Tensor::from<std::int32_t>({5, 0, 3}, {kBatches});
  const std::vector<Tensor> inputs{random_normal({kBatches, kQueries, kDim}, 1),
                                   random_normal({kBatches, kKeys, kDim}, 2), random_normal({kDim}, 3),
                                   random_normal({kBatches, kKeys, 7}, 4)};
  for (const Tensor& key_lengths : {Tensor(), lengths}) {
    const auto fused = [&](Inputs in) {
      const auto [output, weights] = additive_attention(in[0], in[1], in[2], in[3], key_lengths);
      return concat(std::array{output, weights}, -1);
    };
    const auto twin = [&](Inputs in) {
      const Variable q = reshape(in[0], {kBatches, kQueries, 1, kDim}), k = reshape(in[1], {kBatches, 1, kKeys, kDim});
      const Tensor mask = attention_mask(kBatches, kQueries, kKeys, {.key_lengths = key_lengths});
      const Variable scores = sum(mul(tanh(add(q, k)), in[2]), -1);
      const Variable weights = softmax(add(scores, beside(scores, mask.reshape({kBatches, kQueries, kKeys}))));
      return concat(std::array{matmul(weights, in[3]), weights}, -1);
    };
    check_twins(fused, twin, inputs);
  }
}

TEST_CASE("layer_norm: agrees with its composite twin") {
  const auto twin = [](Inputs in) {
    const Variable centered = sub(in[0], mean(in[0], -1, true));
    const Variable deviation = sqrt(add_scalar(mean(mul(centered, centered), -1, true), 1e-5));
    const Variable scaled = mul(div(centered, deviation), in[1]);
    return in.size() > 2 ? add(scaled, in[2]) : scaled;
  };
  const auto fused = [](Inputs in) { return layer_norm(in[0], in[1], in.size() > 2 ? in[2] : Variable(), 1e-5); };
  for (const Dims& sizes : {Dims{4}, Dims{3, 1}, Dims{5, 7}, Dims{2, 3, 64}, Dims{70, 33}}) {
    const Dims last{sizes.back()};
    const std::vector<Tensor> inputs{random_normal(sizes, 1), random_normal(last, 2), random_normal(last, 3)};
    CAPTURE(sizes);
    check_twins(fused, twin, inputs);
    check_twins(fused, twin, std::span(inputs).first(2));
  }
}

TEST_CASE("rms_norm: agrees with its composite twin") {
  const auto twin = [](Inputs in) {
    return mul(div(in[0], sqrt(add_scalar(mean(mul(in[0], in[0]), -1, true), 1e-5))), in[1]);
  };
  const auto fused = [](Inputs in) { return rms_norm(in[0], in[1], 1e-5); };
  for (const Dims& sizes : {Dims{4}, Dims{3, 1}, Dims{5, 7}, Dims{2, 3, 64}, Dims{70, 33}}) {
    const std::vector<Tensor> inputs{random_normal(sizes, 1), random_normal({sizes.back()}, 2)};
    CAPTURE(sizes);
    check_twins(fused, twin, inputs);
  }
}

TEST_CASE("linear: agrees with its composite twin") {
  const auto twin = [](Inputs in) {
    const Variable x = in[0].value().rank() == 1 ? reshape(in[0], {1, -1}) : in[0];
    const Variable product = matmul(x, transpose(in[1], 0, 1));
    const Variable y = in.size() > 2 ? add(product, in[2]) : product;
    return in[0].value().rank() == 1 ? reshape(y, {-1}) : y;
  };
  const auto fused = [](Inputs in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Variable()); };
  for (const Dims& sizes : {Dims{6}, Dims{1, 6}, Dims{5, 6}, Dims{2, 3, 6}, Dims{2, 1, 20, 6}}) {
    const std::vector<Tensor> inputs{random_normal(sizes, 1), random_normal({9, 6}, 2), random_normal({9}, 3)};
    CAPTURE(sizes);
    check_twins(fused, twin, inputs);
    check_twins(fused, twin, std::span(inputs).first(2));
  }
}

TEST_CASE("lora_linear: agrees with its composite twin, for all rows and for two of three stacked matrices") {
  const std::vector<LoraPart> all{{0, 9}}, some{{0, 4}, {7, 2}};
  for (const std::vector<LoraPart>& parts : {all, some}) {
    const bool whole = parts.size() == 1;
    const auto twin = [&](Inputs in) {
      const Variable h = linear(in[2], in[3], {});
      const Variable left = linear(slice(h, -1, 0, 2), slice(in[4], 0, 0, parts[0].rows), {});
      if (whole) return add(linear(in[0], in[1], in[5]), scale(left, 0.7));
      const Variable right = linear(slice(h, -1, 2, 4), slice(in[4], 0, 4, 6), {});
      const Variable none = scale(slice(linear(in[0], in[1], {}), -1, 4, 7), 0);
      return add(linear(in[0], in[1], in[5]), scale(concat(std::array{left, none, right}, -1), 0.7));
    };
    const auto fused = [&](Inputs in) { return lora_linear(in[0], in[1], in[5], in[2], {in[3], in[4], parts, 0.7}); };
    for (const Dims& sizes : {Dims{1, 6}, Dims{5, 6}, Dims{2, 20, 6}}) {
      CAPTURE(sizes);
      check_twins(fused, twin,
                  std::vector<Tensor>{random_normal(sizes, 1), random_normal({9, 6}, 2), random_normal(sizes, 3),
                                      random_normal({whole ? 2 : 4, 6}, 4), random_normal({whole ? 9 : 6, 2}, 5),
                                      random_normal({9}, 6)});
    }
  }
}

TEST_CASE("freeze: a frozen parameter is read as a constant, whose gradient nothing computes") {
  const Variable w = Variable::parameter(random_normal({3, 4}, 1)), b = Variable::parameter(random_normal({3}, 2));
  w.freeze();
  Tape tape;
  const Variable loss = sum(linear(Variable::constant(tape, random_normal({2, 4}, 3)), w, b));
  tape.backward(loss);
  CHECK(!w.grad().defined());
  CHECK(b.grad().defined());
}

TEST_CASE("feed_forward: agrees with its composite twin") {
  const auto activate = [](ActivationKind kind, const Variable& x) {
    if (kind == ActivationKind::relu2) return square(relu(x));
    return kind == ActivationKind::relu ? relu(x) : kind == ActivationKind::gelu ? gelu(x) : gelu_tanh(x);
  };
  for (const ActivationKind kind :
       {ActivationKind::gelu, ActivationKind::gelu_tanh, ActivationKind::relu, ActivationKind::relu2}) {
    for (const Dims& sizes : {Dims{6}, Dims{5, 6}, Dims{2, 40, 6}}) {
      const std::vector<Tensor> inputs{random_normal(sizes, 1),  random_normal({6}, 2), random_normal({6}, 3),
                                       random_normal({9, 6}, 4), random_normal({9}, 5), random_normal({7, 9}, 6),
                                       random_normal({7}, 7)};
      CAPTURE(sizes);
      check_twins(
          [&](Inputs in) {
            return feed_forward(layer_norm(in[0], in[1], in[2], 1e-5), {in[3], in[4], in[5], in[6]}, kind);
          },
          [&](Inputs in) {
            const Variable hidden = linear(layer_norm(in[0], in[1], in[2], 1e-5), in[3], in[4]);
            return linear(activate(kind, hidden), in[5], in[6]);
          },
          inputs);
      check_twins(
          [&](Inputs in) {
            return feed_forward(in[0], {in[3], Variable(), in[5], Variable()}, kind);
          },
          [&](Inputs in) { return linear(activate(kind, linear(in[0], in[3], {})), in[5], {}); }, inputs);
    }
  }
}

TEST_CASE("feed_forward: a gated one agrees with its composite twin") {
  const auto hidden = [](ActivationKind kind, const Variable& x) {
    const std::int64_t half = x.size(-1) / 2;
    const Variable gate = slice(x, -1, 0, half), up = slice(x, -1, half, 2 * half);
    return mul(kind == ActivationKind::geglu ? gelu(gate) : mul(gate, sigmoid(gate)), up);
  };
  for (const ActivationKind kind : {ActivationKind::swiglu, ActivationKind::geglu}) {
    for (const Dims& sizes : {Dims{6}, Dims{5, 6}, Dims{2, 40, 6}}) {
      const std::vector<Tensor> inputs{random_normal(sizes, 1), random_normal({18, 6}, 2), random_normal({18}, 3),
                                       random_normal({7, 9}, 4), random_normal({7}, 5)};
      CAPTURE(sizes);
      check_twins(
          [&](Inputs in) {
            return feed_forward(in[0], {in[1], in[2], in[3], in[4]}, kind);
          },
          [&](Inputs in) { return linear(hidden(kind, linear(in[0], in[1], in[2])), in[3], in[4]); }, inputs);
      check_twins(
          [&](Inputs in) {
            return feed_forward(in[0], {in[1], Variable(), in[3], Variable()}, kind);
          },
          [&](Inputs in) { return linear(hidden(kind, linear(in[0], in[1], {})), in[3], {}); }, inputs);
    }
  }
}

TEST_CASE("softmax and log_softmax: agree with their composite twins") {
  const auto exps = [](const Variable& x) { return exp(sub(x, max(x, -1, true))); };
  for (const Dims& sizes : {Dims{5}, Dims{3, 1}, Dims{4, 17}, Dims{2, 3, 65}}) {
    const std::vector<Tensor> inputs{random_normal(sizes, 1)};
    check_twins([](Inputs in) { return softmax(in[0]); },
                [&](Inputs in) { return div(exps(in[0]), sum(exps(in[0]), -1, true)); }, inputs);
    check_twins([](Inputs in) { return log_softmax(in[0]); },
                [&](Inputs in) { return sub(sub(in[0], max(in[0], -1, true)), log(sum(exps(in[0]), -1, true))); },
                inputs);
  }
}

TEST_CASE("activations: agree with their composite twins") {
  const std::vector<Tensor> inputs{random_normal({7, 33}, 1)};
  const auto square = [](const Variable& x) { return mul(x, x); };
  const auto one = [](const Variable& x) { return beside(x, Tensor::scalar(1, DType::f64)); };
  const auto tanh_twin = [&](const Variable& x) {
    const Variable e = exp(scale(x, 2));
    return div(add_scalar(e, -1), add_scalar(e, 1));
  };
  check_twins([](Inputs in) { return tanh(in[0]); }, [&](Inputs in) { return tanh_twin(in[0]); }, inputs);
  check_twins([](Inputs in) { return sigmoid(in[0]); },
              [&](Inputs in) { return div(one(in[0]), add_scalar(exp(scale(in[0], -1)), 1)); }, inputs);
  check_twins([](Inputs in) { return gelu_tanh(in[0]); },
              [&](Inputs in) {
                const Variable& x = in[0];
                const Variable cubic = add(x, scale(mul(square(x), x), 0.044715));
                return scale(mul(x, add_scalar(tanh_twin(scale(cubic, std::sqrt(2 / std::numbers::pi))), 1)), 0.5);
              },
              inputs);
  check_twins([](Inputs in) { return relu(in[0]); },
              [&](Inputs in) { return scale(add(in[0], sqrt(square(in[0]))), 0.5); }, inputs);
}

TEST_CASE("gelu: value and gradient are those of x times the normal distribution") {
  const std::vector<Tensor> inputs{random_normal({5, 40}, 1)};
  for (bool narrow : {false, true}) {
    const Evaluation got = evaluate([](Inputs in) { return gelu(in[0]); }, narrow ? as_f32(inputs) : inputs);
    const std::vector<double> x = values_of(inputs[0]), dy = values_of(random_normal({5, 40}, 99));
    const Tensor y = Tensor::empty({5, 40}, DType::f64), dx = Tensor::empty({5, 40}, DType::f64);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double cumulative = (1 + std::erf(x[i] / std::numbers::sqrt2)) / 2;
      const double density = std::exp(-x[i] * x[i] / 2) / std::sqrt(2 * std::numbers::pi);
      y.span<double>()[i] = x[i] * cumulative;
      dx.span<double>()[i] = dy[i] * (cumulative + x[i] * density);
    }
    CHECK(distance(got.value, y) <= (narrow ? 1e-5 : 1e-10));
    CHECK(distance(got.gradients[0], dx) <= (narrow ? 1e-5 : 1e-10));
  }
}
