// Attention of heads that lie side by side, against the same attention of views.
#include <array>

#include "autograd/ops/ops.h"
#include "autograd/tensor/allocator.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

using Inputs = std::span<const Variable>;

constexpr std::int64_t kHeads = 2;

// (B, T, h·d) → (B, h, T, d)
Variable heads(const Variable& x) {
  return transpose(reshape(x, {x.size(0), x.size(1), kHeads, x.size(2) / kHeads}), 1, 2);
}

Variable attend(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options) {
  const Variable y = scaled_dot_product_attention(heads(q), heads(k), heads(v), options);
  return reshape(transpose(y, 1, 2), q.sizes());
}

Variable self_twin(const Variable& qkv, const AttentionOptions& options) {
  const std::int64_t dim = qkv.size(2) / 3;
  const auto parts = split(qkv, std::array{dim, dim, dim}, -1);
  return attend(parts[0], parts[1], parts[2], options);
}

Variable cross_twin(const Variable& q, const Variable& kv, const AttentionOptions& options) {
  const auto parts = split(kv, std::array{q.size(2), q.size(2)}, -1);
  return attend(q, parts[0], parts[1], options);
}

// (B, h, T, d), or each head repeated for a group of query heads.
Variable repeated(const Variable& x, std::int64_t group) {
  const Dims s = x.sizes();
  const Variable one = reshape(x, {s[0], s[1], 1, s[2], s[3]});
  return reshape(expand(one, {s[0], s[1], group, s[2], s[3]}), {s[0], s[1] * group, s[2], s[3]});
}

// (B, T, count·d) → (B, count, T, d)
Variable heads_of(const Variable& x, std::int64_t count) {
  return transpose(reshape(x, {x.size(0), x.size(1), count, x.size(2) / count}), 1, 2);
}

// transform_heads() of elementary ops; x (B, h, T, d).
Variable transform_twin(const Variable& x, const Variable& weight, const HeadTransform& how) {
  Variable y = x;
  if (weight.defined()) {
    y = mul(div(y, sqrt(add_scalar(mean(mul(y, y), -1, true), how.norm_eps))), weight);
  }
  const auto& [table, positions, pairs] = how.rotation;
  if (!table.defined()) return y;
  const std::int64_t batch = x.size(0), length = x.size(2), half = x.size(3) / 2;
  const Tensor places = positions.defined() ? positions : [&] {
    std::vector<std::int32_t> in_order;
    for (std::int64_t i = 0; i < batch * length; ++i) in_order.push_back(static_cast<std::int32_t>(i % length));
    return Tensor::from(std::span<const std::int32_t>(in_order), {batch, length});
  }();
  const Variable angles = reshape(
      embedding(Variable::constant(*x.tape(), table.to(x.value().dtype())), Variable::constant(*x.tape(), places)),
      {batch, 1, length, 2 * half});
  const Variable cosine = slice(angles, 3, 0, half), sine = slice(angles, 3, half, 2 * half);
  const bool halves = pairs == RotaryPairs::halves;
  const Variable a = halves ? slice(y, 3, 0, half) : slice(y, 3, 0, 2 * half, 2);
  const Variable b = halves ? slice(y, 3, half, 2 * half) : slice(y, 3, 1, 2 * half, 2);
  const Variable to_a = sub(mul(a, cosine), mul(b, sine)), to_b = add(mul(a, sine), mul(b, cosine));
  if (halves) return concat(std::array{to_a, to_b}, -1);
  const auto column = [&](const Variable& v) { return reshape(v, {batch, x.size(1), length, half, 1}); };
  return reshape(concat(std::array{column(to_a), column(to_b)}, -1), x.sizes());
}

// What packed_self_attention() computes, from other ops: h query heads share g heads of k and v.
Variable grouped_self_twin(const Variable& qkv, std::int64_t h, std::int64_t g, std::int64_t value_dim,
                           const AttentionOptions& options, const HeadWeights& weights, const HeadTransform& how) {
  const std::int64_t d = (qkv.size(2) - g * value_dim) / (h + g);
  const auto parts = split(qkv, std::array{h * d, g * d, g * value_dim}, -1);
  const Variable q = transform_twin(heads_of(parts[0], h), weights.q, how);
  const Variable k = repeated(transform_twin(heads_of(parts[1], g), weights.k, how), h / g);
  const Variable y = scaled_dot_product_attention(q, k, repeated(heads_of(parts[2], g), h / g), options);
  return reshape(transpose(y, 1, 2), {qkv.size(0), qkv.size(1), h * value_dim});
}

const TapeOptions kTraining{.training = true, .random = {.seed = 5, .step = 2}};

}  // namespace

TEST_CASE("packed attention: agrees with attention of split views") {
  const Tensor lengths = Tensor::from<std::int32_t>({5, 0, 3}, {3}), begin = Tensor::zeros({3, 6}, DType::i32);
  begin.slice(1, 3, 6).copy_from(Tensor::from<std::int32_t>({3}, {1, 1}).expand({3, 3}));
  for (const AttentionOptions& options :
       {AttentionOptions{}, AttentionOptions{.causal = true, .scale = 0.7}, AttentionOptions{.key_lengths = lengths},
        AttentionOptions{.causal = true, .key_begin = begin, .dropout = 0.3}}) {
    const std::vector<Tensor> qkv{random_normal({3, 6, 24}, 1)};
    check_twins([&](Inputs in) { return packed_self_attention(in[0], kHeads, options); },
                [&](Inputs in) { return self_twin(in[0], options); }, qkv, kTraining);
    check_twins(  // another use of qkv writes its gradient before and after
        [&](Inputs in) { return mul(add(packed_self_attention(in[0], kHeads, options), sum(in[0])), sum(in[0])); },
        [&](Inputs in) { return mul(add(self_twin(in[0], options), sum(in[0])), sum(in[0])); }, qkv, kTraining);
    const std::vector<Tensor> q_kv{random_normal({3, 6, 8}, 2), random_normal({3, 7, 16}, 3)};
    check_twins([&](Inputs in) { return packed_cross_attention(in[0], in[1], kHeads, options); },
                [&](Inputs in) { return cross_twin(in[0], in[1], options); }, q_kv, kTraining);
  }
}

TEST_CASE("packed attention: only the gradients that are wanted") {
  const Tensor q = random_normal({1, 3, 4}, 1), kv = random_normal({1, 5, 8}, 2), dy = random_normal({1, 3, 4}, 3);
  const Variable q_wanted = Variable::parameter(q), kv_wanted = Variable::parameter(kv);
  const auto run = [&](bool with_q, bool with_kv) {
    Tape tape;
    tape.backward(packed_cross_attention(with_q ? q_wanted.on(tape) : Variable::constant(tape, q),
                                         with_kv ? kv_wanted.on(tape) : Variable::constant(tape, kv), kHeads, {}),
                  dy);
  };
  run(true, true);
  const Tensor dq = q_wanted.grad(), dkv = kv_wanted.grad();
  q_wanted.zero_grad(), kv_wanted.zero_grad();
  run(true, false);
  run(false, true);
  CHECK(distance(q_wanted.grad(), dq) == 0);
  CHECK(distance(kv_wanted.grad(), dkv) == 0);
}

TEST_CASE("packed attention: the gradient is written in place, without a copy of q, k or v") {
  const Variable x = Variable::parameter(random_normal({2, 256, 192}, 1, DType::f32));
  Tape tape;
  const Variable y = packed_self_attention(x.on(tape), 4, {.causal = true});
  const Tensor dy = Tensor::full({2, 256, 64}, DType::f32, 1);
  const std::int64_t before = memory_stats().in_use;
  reset_peak_memory();
  tape.backward(y, dy);
  CHECK(x.grad().is_contiguous());
  // The gradient of x and little else; the gradients of q, k and v apart would double it.
  CHECK(memory_stats().peak - before >= x.value().bytes());
  CHECK(memory_stats().peak - before < x.value().bytes() * 5 / 4);
}

TEST_CASE("packed attention: groups of query heads, norms and rotations agree with elementary ops") {
  const Tensor positions = Tensor::from<std::int32_t>({0, 1, 0, 1, 2, 0, 1, 2, 3, 4}, {2, 5});
  const AttentionOptions options{.causal = true, .dropout = 0.2};
  for (const HeadLayout& heads : {HeadLayout(4, 2), {4, 1}, {2, 2}, {4, 2, 5}, {2, 2, 8}}) {
    const std::int64_t h = heads.queries, g = heads.keys, value_dim = heads.value_dim ? heads.value_dim : 6;
    const std::vector<Tensor> inputs{random_normal({2, 5, (h + g) * 6 + g * value_dim}, 1), random_normal({6}, 2),
                                     random_normal({6}, 3)};
    for (RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::interleaved}) {
      for (const Tensor& places : {Tensor(), positions}) {
        for (bool normalised : {false, true}) {
          CAPTURE(h);
          CAPTURE(g);
          CAPTURE(value_dim);
          CAPTURE(static_cast<int>(pairs));
          CAPTURE(normalised);
          const auto how = [&](Inputs in) {
            return HeadTransform{
                .rotation = {rotation_table(3, 5, rotation_angles(6, 100), in[0].value().dtype()), places, pairs}};
          };
          const auto weights = [&](Inputs in) { return normalised ? HeadWeights{in[1], in[2]} : HeadWeights{}; };
          check_twins(
              [&](Inputs in) { return packed_self_attention(in[0], heads, options, weights(in), how(in)); },
              [&](Inputs in) { return grouped_self_twin(in[0], h, g, value_dim, options, weights(in), how(in)); },
              std::span(inputs).first(normalised ? 3 : 1), kTraining);
          check_twins(  // another use of qkv writes its gradient before and after
              [&](Inputs in) {
                const Variable y = packed_self_attention(in[0], heads, options, weights(in), how(in));
                return mul(add(y, sum(in[0])), sum(in[0]));
              },
              [&](Inputs in) {
                const Variable y = grouped_self_twin(in[0], h, g, value_dim, options, weights(in), how(in));
                return mul(add(y, sum(in[0])), sum(in[0]));
              },
              std::span(inputs).first(normalised ? 3 : 1), kTraining);
        }
      }
    }
  }
}

TEST_CASE("packed attention: cross-attention of groups agrees with repeated heads") {
  const AttentionOptions options{.key_lengths = Tensor::from<std::int32_t>({4, 2}, {2})};
  for (const std::int64_t value_dim : {0, 3, 9}) {
    CAPTURE(value_dim);
    const std::int64_t d = 6, d_v = value_dim ? value_dim : d;
    const std::vector<Tensor> q_kv{random_normal({2, 3, 4 * d}, 1), random_normal({2, 4, 2 * (d + d_v)}, 2)};
    check_twins(
        [&](Inputs in) {
          return packed_cross_attention(in[0], in[1], {4, 2, value_dim}, options);
        },
        [&](Inputs in) {
          const auto parts = split(in[1], std::array{2 * d, 2 * d_v}, -1);
          const Variable y = scaled_dot_product_attention(heads_of(in[0], 4), repeated(heads_of(parts[0], 2), 2),
                                                          repeated(heads_of(parts[1], 2), 2), options);
          return reshape(transpose(y, 1, 2), {2, 3, 4 * d_v});
        },
        q_kv, kTraining);
  }
}

TEST_CASE("attention: the simplest one, of the vectors themselves, is the same op without a scale") {
  const Tensor x = random_normal({1, 1, 5, 3}, 1);
  Tape tape(no_grad);
  const Variable rows = Variable::constant(tape, x);
  const Variable scores = matmul(rows, transpose(rows, 2, 3));  // x_i·x_j
  CHECK(distance(scaled_dot_product_attention(rows, rows, rows, {.scale = 1}).value(),
                 matmul(softmax(scores), rows).value()) < 1e-14);
}

TEST_CASE("rotary positions: scores depend on differences of positions only, f64") {
  const Tensor q = random_normal({1, 1, 32}, 1), k = random_normal({1, 1, 32}, 2);
  Tape tape(no_grad);
  for (RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::interleaved}) {
    const auto score = [&](std::int64_t of_q, std::int64_t of_k) {
      const auto turned = [&](const Tensor& x, std::int64_t position) {
        return transform_heads(
            Variable::constant(tape, x), {}, 1,
            {.rotation = {rotation_table(position, 1, rotation_angles(32, 10000), DType::f64), {}, pairs}});
      };
      return sum(mul(turned(q, of_q), turned(k, of_k))).value().item();
    };
    for (const std::int64_t difference : {-7, 0, 1, 40}) {
      for (const std::int64_t place : {10, 100, 5000}) {
        CHECK(std::abs(score(place + difference, place) - score(7 + difference, 7)) < 1e-12);
      }
    }
    CHECK(std::abs(score(3, 2) - score(4, 2)) > 1e-3);
    CHECK(std::abs(score(2, 3) - score(3, 2)) > 1e-3);
  }
}
