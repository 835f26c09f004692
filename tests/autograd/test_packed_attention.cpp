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
