#include "autograd/kernels/attention/linear_attention.h"

#include "autograd/ops/attention/attention.h"
#include "autograd/ops/attention/attention_heads.h"
#include "autograd/ops/helpers/op_helpers.h"

namespace tapeformer {
namespace {

// The formulas of both directions are in autograd/kernels/attention/linear_attention.h.
struct LinearAttention {
  static constexpr const char* kName = "linear_attention";
  LinearAttentionOptions options;
  Saved q = {}, k = {}, v = {};
  Tensor o = {}, normalizer = {};

  kernels::LinearAttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v) const {
    return {.batches = q.size(0),
            .heads = q.size(1),
            .length = q.size(2),
            .query_dim = q.size(3),
            .value_dim = v.size(3),
            .group = q.size(1) / k.size(1),
            .key_begin = data_or_null<std::int32_t>(options.key_begin)};
  }

  Tensor forward(OpContext& context, const Tensor& queries, const Tensor& keys, const Tensor& values) {
    check(!options.state.defined() || !context.recording(), kName, ": a state works without recording only");
    const Tensor dense_q = with_dense_heads(queries), dense_k = with_dense_heads(keys),
                 dense_v = with_dense_heads(values);
    q = context.save(0, dense_q), k = context.save(1, dense_k), v = context.save(2, dense_v);
    const auto shape = shape_of(queries, keys, values);
    o = empty_by_rows(shape.batches, shape.heads, shape.length, shape.value_dim, queries.dtype());
    normalizer = Tensor::empty({shape.batches, shape.heads, shape.length}, queries.dtype());
    dispatch_floating(queries.dtype(), [&]<class T>(T) {
      kernels::linear_attention_forward(
          o.data<T>(), strides_of(o), normalizer.data<T>(), data_or_null<T>(options.state), dense_q.data<T>(),
          strides_of(dense_q), dense_k.data<T>(), strides_of(dense_k), dense_v.data<T>(), strides_of(dense_v), shape);
    });
    if (options.state.defined()) options.state.mark_changed();
    return o;
  }

  void backward(const Tensor& dy, GradSlot& dq, GradSlot& dk, GradSlot& dv) {
    const Tensor g = with_dense_heads(dy), q_rows = q.get(), k_rows = k.get(), v_rows = v.get();
    const GradTarget to_q = target_or_none(dq), to_k = target_or_none(dk), to_v = target_or_none(dv);
    dispatch_floating(q_rows.dtype(), [&]<class T>(T) {
      const auto gradient = [](const GradTarget& to) {
        return to.tensor.defined()
                   ? kernels::AttentionGradient<T>{to.tensor.data<T>(), strides_of(to.tensor), T(to.beta)}
                   : kernels::AttentionGradient<T>{};
      };
      kernels::linear_attention_backward(gradient(to_q), gradient(to_k), gradient(to_v), g.data<T>(), strides_of(g),
                                         o.data<T>(), strides_of(o), normalizer.data<T>(), q_rows.data<T>(),
                                         strides_of(q_rows), k_rows.data<T>(), strides_of(k_rows), v_rows.data<T>(),
                                         strides_of(v_rows), shape_of(q_rows, k_rows, v_rows));
    });
  }
};

// Throws Error unless each token's document begins where that of the token before begins, or at the token.
void check_documents(const Tensor& key_begin) {
  const std::int64_t length = key_begin.size(1);
  const std::int32_t* key = key_begin.data<std::int32_t>();
  for (std::int64_t i = 0; i < key_begin.numel(); ++i) {
    const std::int64_t t = i % length;
    check(key[i] == t || (t == 0 ? key[i] == 0 : key[i] == key[i - 1]),
          "linear_attention: expected key_begin of a document, which is that of the token before, or ", t, ", got ",
          key[i]);
  }
}

}  // namespace

Variable linear_attention(const Variable& q, const Variable& k, const Variable& v,
                          const LinearAttentionOptions& options) {
  constexpr auto kName = LinearAttention::kName;
  const Dims &a = q.sizes(), &b = k.sizes(), &c = v.sizes();
  check(a.rank() == 4 && b.rank() == 4 && c.rank() == 4 && a[0] == b[0] && a[0] == c[0] && a[1] > 0 && b[1] > 0 &&
            a[1] % b[1] == 0 && b[1] == c[1] && a[2] == b[2] && a[2] == c[2] && a[3] == b[3],
        kName, ": q is ", a, ", k is ", b, ", v is ", c,
        ": expected (B, h, T, d_k), (B, g, T, d_k) and (B, g, T, d_v), where g divides h");
  LinearAttentionOptions checked = options;
  if (Tensor& begin = checked.key_begin; begin.defined()) {
    check(!checked.state.defined(), kName, ": expected key_begin or a state, got both");
    check(begin.sizes() == Dims{a[0], a[2]} && begin.dtype() == DType::i32, kName, ": expected key_begin i32 (", a[0],
          ", ", a[2], "), got ", begin.dtype(), " ", begin.sizes());
    begin = begin.contiguous();
    check_documents(begin);
  }
  if (const Tensor& state = checked.state; state.defined()) {
    check(state.sizes() == Dims{a[0], b[1], a[3], c[3] + 1} && state.dtype() == q.dtype() && state.is_contiguous(),
          kName, ": expected a contiguous state ", q.dtype(), " ", Dims{a[0], b[1], a[3], c[3] + 1}, ", got ",
          state.dtype(), " ", state.sizes());
  }
  return record(LinearAttention{checked}, q, k, v);
}

}  // namespace tapeformer
