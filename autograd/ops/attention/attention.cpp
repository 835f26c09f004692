#include "autograd/kernels/attention/attention.h"

#include <algorithm>

#include "autograd/ops/attention/attention.h"
#include "autograd/ops/attention/attention_heads.h"
#include "autograd/ops/attention/head_transform.h"
#include "autograd/ops/helpers/op_helpers.h"

namespace tapeformer {
namespace {

// The destination of a gradient (B, h, T, d): the kernel writes beta·tensor + gradient. The tensor is undefined if the
// gradient is not needed.
struct HeadsGradient {
  Tensor tensor = {};
  double beta = 0;
};

// The part that the ops below share. The inputs are (B, h, T, d), and the d elements of each head are contiguous.
//   o = (P∘M) v,  P = softmax(mask(scale·q kᵀ)),  M = dropout mask/(1 − p)
//   dv = (P∘M)ᵀ do;  dP = (do vᵀ)∘M;  dS = P∘(dP − rowsum(do∘o));  dq = scale·dS k;  dk = scale·dSᵀ q
// where dk and dv are summed over the query heads that read the same head of k and v. Backward computes P again from
// the log-sum-exp of each row.
struct AttentionCore {
  AttentionOptions options;
  Tensor o = {}, log_sum_exp = {};
  kernels::AttentionShape shape = {};

  // Returns o (B, h, T_q, d_v), whose memory layout is (B, T_q, h, d_v).
  Tensor forward(OpContext& context, const Tensor& q, const Tensor& k, const Tensor& v) {
    shape = shape_of(q, k, v, options);
    shape.causal = options.causal;
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

  void backward(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v, const HeadsGradient& dq,
                const HeadsGradient& dk, const HeadsGradient& dv) const {
    const Tensor g = with_dense_heads(dy);
    dispatch_floating(q.dtype(), [&]<class T>(T) {
      const auto gradient = [](const HeadsGradient& to) {
        return to.tensor.defined()
                   ? kernels::AttentionGradient<T>{to.tensor.data<T>(), strides_of(to.tensor), T(to.beta)}
                   : kernels::AttentionGradient<T>{};
      };
      kernels::attention_backward(gradient(dq), gradient(dk), gradient(dv), g.data<T>(), strides_of(g), o.data<T>(),
                                  strides_of(o), log_sum_exp.data<T>(), q.data<T>(), strides_of(q), k.data<T>(),
                                  strides_of(k), v.data<T>(), strides_of(v), shape);
    });
  }
};

struct ScaledDotProductAttention {
  static constexpr const char* kName = "scaled_dot_product_attention";
  AttentionCore core;
  Saved q = {}, k = {}, v = {};

  Tensor forward(OpContext& context, const Tensor& queries, const Tensor& keys, const Tensor& values) {
    const Tensor dense_q = with_dense_heads(queries), dense_k = with_dense_heads(keys),
                 dense_v = with_dense_heads(values);
    q = context.save(0, dense_q), k = context.save(1, dense_k), v = context.save(2, dense_v);
    return core.forward(context, dense_q, dense_k, dense_v);
  }
  void backward(const Tensor& dy, GradSlot& dq, GradSlot& dk, GradSlot& dv) {
    const auto target = [](GradSlot& slot) {
      const GradTarget to = target_or_none(slot);
      return HeadsGradient{to.tensor, to.beta};
    };
    core.backward(dy, q.get(), k.get(), v.get(), target(dq), target(dk), target(dv));
  }
};

// Returns the view (B, heads, T, d) of rows (B, T, …): each row holds the heads side by side, from element `begin` on.
Tensor heads_of(const Tensor& rows, std::int64_t begin, std::int64_t heads, std::int64_t d) {
  return rows.slice(2, begin, begin + heads * d).reshape({rows.size(0), rows.size(1), heads, d}).transpose(1, 2);
}
HeadsGradient heads_of(const GradTarget& rows, std::int64_t begin, std::int64_t heads, std::int64_t d) {
  return rows.tensor.defined() ? HeadsGradient{heads_of(rows.tensor, begin, heads, d), rows.beta} : HeadsGradient{};
}
// Joins the heads: (B, h, T, d) → (B, T, h·d). The result is a view if the memory layout is (B, T, h, d), else a copy.
Tensor rows_of(const Tensor& x) { return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)}); }

// The layout of a row [q, k, v]: the elements where k and v begin, the width d of a head of q and k, and the width d_v
// of a head of v.
struct Places {
  std::int64_t k, v, d, d_v;
};
Places places_of(const HeadLayout& heads, std::int64_t width) {
  const auto& [h, g, value_dim] = heads;
  const std::int64_t d = value_dim ? (width - g * value_dim) / (h + g) : width / (h + 2 * g);
  return {h * d, (h + g) * d, d, value_dim ? value_dim : d};
}

// The op of attention.h, whose gradient formulas are those of AttentionCore and of TransformHeads (head_transform.cpp).
// If queries and keys are transformed, backward computes the transformed rows again, and turns the gradients of the
// transformed rows into those of the untransformed rows in place.
struct PackedSelfAttention {
  static constexpr const char* kName = "packed_self_attention";
  AttentionCore core;
  HeadLayout heads;
  HeadTransform how;
  Saved qkv = {};
  Tensor q_weight = {}, k_weight = {};

  Places places(const Tensor& rows) const { return places_of(heads, rows.size(2)); }
  bool transforms() const { return how.rotation.table.defined() || q_weight.defined() || k_weight.defined(); }
  // Returns the transformed queries and keys of qkv, (B, T, (h + g)·d).
  Tensor transformed(const Tensor& rows) const {
    const Places at = places(rows);
    const Tensor to = Tensor::empty({rows.size(0), rows.size(1), at.v}, rows.dtype());
    transform_rows(to.slice(2, 0, at.k), rows.slice(2, 0, at.k), q_weight, heads.queries, how);
    transform_rows(to.slice(2, at.k, at.v), rows.slice(2, at.k, at.v), k_weight, heads.keys, how);
    return to;
  }

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& q_norm, const Tensor& k_norm) {
    const Tensor rows = in.contiguous();
    qkv = context.save(0, rows);
    if (q_norm.defined()) q_weight = q_norm.contiguous();
    if (k_norm.defined()) k_weight = k_norm.contiguous();
    const std::int64_t h = heads.queries, g = heads.keys;
    const Tensor qk = transforms() ? transformed(rows) : rows;
    const auto [k, v, d, d_v] = places(rows);
    return rows_of(core.forward(context, heads_of(qk, 0, h, d), heads_of(qk, k, g, d), heads_of(rows, v, g, d_v)));
  }
  void backward(const Tensor& dy, GradSlot& dqkv, GradSlot& dq_weight, GradSlot& dk_weight) {
    if (!dqkv.needed() && !dq_weight.needed() && !dk_weight.needed()) return;
    const std::int64_t h = heads.queries, g = heads.keys;
    const Tensor rows = qkv.get(), qk = transforms() ? transformed(rows) : rows;
    const auto [k, v, d, d_v] = places(rows);
    const GradTarget to = transforms() ? GradTarget{Tensor::empty(rows.sizes(), rows.dtype()), 0} : dqkv.target();
    core.backward(heads_of(dy, 0, h, d_v), heads_of(qk, 0, h, d), heads_of(qk, k, g, d), heads_of(rows, v, g, d_v),
                  heads_of(to, 0, h, d), heads_of(to, k, g, d), heads_of(to, v, g, d_v));
    if (!transforms()) return;
    transform_rows_backward(to.tensor.slice(2, 0, k), dq_weight, rows.slice(2, 0, k), q_weight, h, how);
    transform_rows_backward(to.tensor.slice(2, k, v), dk_weight, rows.slice(2, k, v), k_weight, g, how);
    if (dqkv.needed()) dqkv.accumulate(to.tensor);
  }
};

struct PackedCrossAttention {
  static constexpr const char* kName = "packed_cross_attention";
  AttentionCore core;
  HeadLayout heads;
  Saved q = {}, kv = {};

  // Returns d, the width of a head of q and k, and d_v, the width of a head of v.
  std::pair<std::int64_t, std::int64_t> widths(const Tensor& q_rows) const {
    const std::int64_t d = q_rows.size(2) / heads.queries;
    return {d, heads.value_dim ? heads.value_dim : d};
  }

  Tensor forward(OpContext& context, const Tensor& queries, const Tensor& keys_and_values) {
    const Tensor q_rows = queries.contiguous(), kv_rows = keys_and_values.contiguous();
    q = context.save(0, q_rows), kv = context.save(1, kv_rows);
    const std::int64_t h = heads.queries, g = heads.keys;
    const auto [d, d_v] = widths(q_rows);
    return rows_of(
        core.forward(context, heads_of(q_rows, 0, h, d), heads_of(kv_rows, 0, g, d), heads_of(kv_rows, g * d, g, d_v)));
  }
  void backward(const Tensor& dy, GradSlot& dq, GradSlot& dkv) {
    const std::int64_t h = heads.queries, g = heads.keys;
    const Tensor q_rows = q.get(), kv_rows = kv.get();
    const auto [d, d_v] = widths(q_rows);
    const GradTarget to_q = target_or_none(dq), to_kv = target_or_none(dkv);
    core.backward(heads_of(dy, 0, h, d_v), heads_of(q_rows, 0, h, d), heads_of(kv_rows, 0, g, d),
                  heads_of(kv_rows, g * d, g, d_v), heads_of(to_q, 0, h, d), heads_of(to_kv, 0, g, d),
                  heads_of(to_kv, g * d, g, d_v));
  }
};

bool divides(std::int64_t divisor, std::int64_t number) { return divisor > 0 && number % divisor == 0; }

void check_key_begin(const char* op, const Tensor& key_begin, std::int64_t keys, bool causal) {
  const std::int64_t batches = key_begin.size(0), queries = key_begin.size(1);
  const std::int32_t* key = key_begin.data<std::int32_t>();
  for (std::int64_t b = 0; b < batches; ++b) {
    std::int64_t least = 0;
    for (std::int64_t i = 0; i < queries; ++i, ++key) {
      // With more queries than keys, the first causal queries come before all keys and see none of them.
      const std::int64_t most = std::max<std::int64_t>(causal ? i + keys - queries : keys - 1, 0);
      check(*key >= least && *key <= most, op, ": expected key_begin of ", least, " to ", most, " for query ", i,
            " of row ", b, ", got ", *key);
      least = *key;
    }
  }
}

// Returns the options with contiguous tensors. Throws Error naming `op` if they do not fit.
AttentionOptions checked_options(const char* op, std::int64_t batches, std::int64_t queries, std::int64_t keys,
                                 AttentionOptions options) {
  Tensor &lengths = options.key_lengths, &begin = options.key_begin;
  check(!lengths.defined() || (lengths.sizes() == Dims{batches} && lengths.dtype() == DType::i32), op,
        ": expected key_lengths i32 (", batches, "), got ", lengths.dtype(), " ", lengths.sizes());
  check(!begin.defined() || (begin.sizes() == Dims{batches, queries} && begin.dtype() == DType::i32), op,
        ": expected key_begin i32 (", batches, ", ", queries, "), got ", begin.dtype(), " ", begin.sizes());
  check(options.dropout >= 0 && options.dropout < 1, op, ": expected 0 <= dropout < 1, got ", options.dropout);
  if (lengths.defined()) lengths = lengths.contiguous();
  if (begin.defined()) {
    begin = begin.contiguous();
    check_key_begin(op, begin, keys, options.causal);
  }
  return options;
}

}  // namespace

AttentionOptions checked_attention(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                                   const AttentionOptions& options) {
  const Dims &a = q.sizes(), &b = k.sizes(), &c = v.sizes();
  check(a.rank() == 4 && b.rank() == 4 && c.rank() == 4 && a[0] == b[0] && a[0] == c[0] && a[1] > 0 &&
            divides(b[1], a[1]) && b[1] == c[1] && b[2] == c[2] && a[3] == b[3],
        op, ": q is ", a, ", k is ", b, ", v is ", c,
        ": expected (B, h, T_q, d_k), (B, g, T_k, d_k) and (B, g, T_k, d_v), where g divides h");
  return checked_options(op, a[0], a[2], b[2], options);
}

Variable scaled_dot_product_attention(const Variable& q, const Variable& k, const Variable& v,
                                      const AttentionOptions& options) {
  constexpr auto kName = ScaledDotProductAttention::kName;
  return record(ScaledDotProductAttention{{checked_attention(kName, q.value(), k.value(), v.value(), options)}}, q, k,
                v);
}

Variable packed_self_attention(const Variable& qkv, const HeadLayout& heads, const AttentionOptions& options,
                               const HeadWeights& weights, const HeadTransform& transform) {
  constexpr auto kName = PackedSelfAttention::kName;
  const Dims& sizes = qkv.sizes();
  const auto& [h, g, d_v] = heads;
  check(h > 0 && divides(g, h) && sizes.rank() == 3 &&
            (d_v ? sizes[2] > g * d_v && divides(h + g, sizes[2] - g * d_v) : divides(h + 2 * g, sizes[2])),
        kName, ": qkv is ", sizes, ": expected (B, T, ", d_v ? str_cat("(h + g) d + g ", d_v) : "(h + 2 g) d",
        ") with h = ", h, " heads and g = ", g, " for k and v");
  const std::int64_t d = places_of(heads, sizes[2]).d;
  check_transform(kName, qkv.value(), d, weights.q, transform);
  check_transform(kName, qkv.value(), d, weights.k, transform);
  const AttentionOptions checked = checked_options(kName, sizes[0], sizes[1], sizes[1], options);
  const HeadTransform how = dense(transform);
  return record(PackedSelfAttention{{checked}, heads, how}, qkv, weights.q, weights.k);
}

Variable packed_cross_attention(const Variable& q, const Variable& kv, const HeadLayout& heads,
                                const AttentionOptions& options) {
  constexpr auto kName = PackedCrossAttention::kName;
  const Dims &a = q.sizes(), &b = kv.sizes();
  const auto& [h, g, d_v] = heads;
  check(h > 0 && divides(g, h) && a.rank() == 3 && b.rank() == 3 && a[0] == b[0] && divides(h, a[2]) &&
            b[2] == g * (a[2] / h + (d_v ? d_v : a[2] / h)),
        kName, ": q is ", a, ", kv is ", b, ": expected (B, T_q, h d) and (B, T_k, ",
        d_v ? str_cat("g (d + ", d_v, ")") : "2 g d", ") with h = ", h, " heads and g = ", g, " for k and v");
  return record(PackedCrossAttention{{checked_options(kName, a[0], a[1], b[1], options)}, heads}, q, kv);
}

}  // namespace tapeformer
