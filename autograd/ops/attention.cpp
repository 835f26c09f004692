#include "autograd/kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops/attention.h"
#include "autograd/ops/op_helpers.h"

namespace tapeformer {
namespace {

// The kernels read and write x (B, h, T, d) where each head's vector lies densely and none overlaps the next one's.
bool has_dense_heads(const Tensor& x) {
  const Dims &sizes = x.sizes(), &strides = x.layout().strides;
  return (sizes[3] <= 1 || strides[3] == 1) && (sizes[2] <= 1 || strides[2] >= sizes[3]);
}
Tensor with_dense_heads(const Tensor& x) { return has_dense_heads(x) ? x : x.clone(); }

// Where a gradient goes: straight to its target, or through `heads` where the target (a view, so its beta is 0) has no
// dense heads. Undefined when not needed.
struct HeadsTarget {
  GradTarget target;
  Tensor heads;
  explicit HeadsTarget(GradSlot& slot) : target(slot.needed() ? slot.strided_target() : GradTarget{{}, 0}) {
    if (!target.tensor.defined()) return;
    heads =
        has_dense_heads(target.tensor) ? target.tensor : Tensor::empty(target.tensor.sizes(), target.tensor.dtype());
  }
  void finish() const {
    if (!heads.shares_storage_with(target.tensor)) target.tensor.copy_from(heads);
  }
};

kernels::AttentionStrides strides_of(const Tensor& x) {
  const Dims& strides = x.layout().strides;
  return {strides[0], strides[2], strides[1]};
}

// (B, h, T, d) in memory as (B, T, h, d)
Tensor empty_by_rows(std::int64_t batches, std::int64_t heads, std::int64_t rows, std::int64_t dim, DType dtype) {
  return Tensor::empty({batches, rows, heads, dim}, dtype).transpose(1, 2);
}

// o = softmax(mask(scale·q kᵀ)) v; the gradients' formulas stand in kernels/attention.h
struct ScaledDotProductAttention {
  static constexpr const char* kName = "scaled_dot_product_attention";
  AttentionOptions options;
  Tensor q = {}, k = {}, v = {}, o = {}, log_sum_exp = {};
  kernels::AttentionShape shape = {};

  Tensor forward(OpContext& context, const Tensor& queries, const Tensor& keys, const Tensor& values) {
    q = with_dense_heads(queries), k = with_dense_heads(keys), v = with_dense_heads(values);
    shape = {q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), v.size(3), options.scale, options.causal};
    if (options.scale == 0) shape.scale = 1 / std::sqrt(static_cast<double>(shape.query_dim));
    if (options.key_lengths.defined()) shape.key_lengths = options.key_lengths.data<std::int32_t>();
    if (options.key_begin.defined()) shape.key_begin = options.key_begin.data<std::int32_t>();
    if (context.training() && options.dropout > 0) {
      shape.dropout = options.dropout;
      shape.dropout_key = context.next_random_key();
    }
    o = empty_by_rows(shape.batches, shape.heads, shape.queries, shape.value_dim, q.dtype());
    log_sum_exp = Tensor::empty({shape.batches, shape.heads, shape.queries}, q.dtype());
    dispatch_floating(q.dtype(), [&]<class T>(T) {
      kernels::attention_forward(o.data<T>(), strides_of(o), log_sum_exp.data<T>(), q.data<T>(), strides_of(q),
                                 k.data<T>(), strides_of(k), v.data<T>(), strides_of(v), shape);
    });
    return o;
  }

  void backward(const Tensor& dy, GradSlot& dq, GradSlot& dk, GradSlot& dv) {
    const Tensor g = with_dense_heads(dy);
    const HeadsTarget to_q(dq), to_k(dk), to_v(dv);
    dispatch_floating(q.dtype(), [&]<class T>(T) {
      const auto gradient = [](const HeadsTarget& to) {
        return to.heads.defined()
                   ? kernels::AttentionGradient<T>{to.heads.data<T>(), strides_of(to.heads), T(to.target.beta)}
                   : kernels::AttentionGradient<T>{};
      };
      kernels::attention_backward(gradient(to_q), gradient(to_k), gradient(to_v), g.data<T>(), strides_of(g),
                                  o.data<T>(), strides_of(o), log_sum_exp.data<T>(), q.data<T>(), strides_of(q),
                                  k.data<T>(), strides_of(k), v.data<T>(), strides_of(v), shape);
    });
    for (const HeadsTarget* to : {&to_q, &to_k, &to_v}) to->finish();
  }
};

void check_key_begin(const Tensor& key_begin, std::int64_t keys, bool causal) {
  const std::int64_t batches = key_begin.size(0), queries = key_begin.size(1);
  const std::int32_t* key = key_begin.data<std::int32_t>();
  for (std::int64_t b = 0; b < batches; ++b) {
    std::int64_t least = 0;
    for (std::int64_t i = 0; i < queries; ++i, ++key) {
      // A query before all keys, where there are more queries than keys, sees none wherever it begins.
      const std::int64_t most = std::max<std::int64_t>(causal ? i + keys - queries : keys - 1, 0);
      check(*key >= least && *key <= most, "scaled_dot_product_attention: expected key_begin of ", least, " to ", most,
            " for query ", i, " of row ", b, ", got ", *key);
      least = *key;
    }
  }
}

}  // namespace

Variable scaled_dot_product_attention(const Variable& q, const Variable& k, const Variable& v,
                                      const AttentionOptions& options) {
  const Dims &a = q.sizes(), &b = k.sizes(), &c = v.sizes();
  check(a.rank() == 4 && b.rank() == 4 && c.rank() == 4 && a[0] == b[0] && a[0] == c[0] && a[1] == b[1] &&
            a[1] == c[1] && b[2] == c[2] && a[3] == b[3],
        "scaled_dot_product_attention: q is ", a, ", k is ", b, ", v is ", c,
        ": expected (B, h, T_q, d_k), (B, h, T_k, d_k) and (B, h, T_k, d_v)");
  check(!options.key_lengths.defined() ||
            (options.key_lengths.sizes() == Dims{a[0]} && options.key_lengths.dtype() == DType::i32),
        "scaled_dot_product_attention: expected key_lengths i32 (", a[0], "), got ", options.key_lengths.dtype(), " ",
        options.key_lengths.sizes());
  check(!options.key_begin.defined() ||
            (options.key_begin.sizes() == Dims{a[0], a[2]} && options.key_begin.dtype() == DType::i32),
        "scaled_dot_product_attention: expected key_begin i32 (", a[0], ", ", a[2], "), got ",
        options.key_begin.dtype(), " ", options.key_begin.sizes());
  check(options.dropout >= 0 && options.dropout < 1, "scaled_dot_product_attention: expected 0 <= dropout < 1, got ",
        options.dropout);
  AttentionOptions dense = options;
  if (dense.key_lengths.defined()) dense.key_lengths = dense.key_lengths.contiguous();
  if (dense.key_begin.defined()) {
    dense.key_begin = dense.key_begin.contiguous();
    check_key_begin(dense.key_begin, b[2], options.causal);
  }
  return record(ScaledDotProductAttention{dense}, q, k, v);
}

}  // namespace tapeformer
