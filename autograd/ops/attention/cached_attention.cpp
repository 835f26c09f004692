#include "autograd/kernels/attention/cached_attention.h"

#include <cmath>

#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/attention/attention_heads.h"
#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

kernels::AttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  kernels::AttentionShape shape{q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), v.size(3), options.scale};
  if (k.size(1) > 0) shape.group = q.size(1) / k.size(1);
  if (options.scale == 0) shape.scale = 1 / std::sqrt(static_cast<double>(shape.query_dim));
  if (options.key_lengths.defined()) shape.key_lengths = options.key_lengths.data<std::int32_t>();
  if (options.key_begin.defined()) shape.key_begin = options.key_begin.data<std::int32_t>();
  return shape;
}

}  // namespace

Tensor cached_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  check(k.dtype() == v.dtype() && (k.dtype() == q.dtype() || (k.dtype() == DType::bf16 && q.dtype() == DType::f32)),
        "cached_attention: q is ", q.dtype(), ", k is ", k.dtype(), ", v is ", v.dtype());
  const Tensor dense_q = with_dense_heads(q);
  AttentionOptions dense = options;
  if (dense.key_lengths.defined()) dense.key_lengths = dense.key_lengths.contiguous();
  if (dense.key_begin.defined()) dense.key_begin = dense.key_begin.contiguous();
  const kernels::AttentionShape shape = shape_of(dense_q, k, v, dense);
  // Several queries of a head are faster by the op, and only that gives a query the same bits for any number of them.
  if (!kernels::cached_attention_takes(shape) || kernels::BatchInvariant::is_on()) {
    Tape tape(no_grad);
    const auto constant = [&](const Tensor& x) { return Variable::constant(tape, x.to(q.dtype())); };
    return scaled_dot_product_attention(constant(q), constant(k), constant(v), options).value();
  }
  const Tensor o = empty_by_rows(shape.batches, shape.heads, 1, shape.value_dim, q.dtype());
  const auto run = [&]<class T, class Stored>(T, Stored) {
    kernels::cached_attention(o.data<T>(), strides_of(o), dense_q.data<T>(), strides_of(dense_q), k.data<Stored>(),
                              strides_of(k), v.data<Stored>(), strides_of(v), shape);
  };
  if (k.dtype() == DType::bf16) {
    run(float{}, kernels::Bf16{});
  } else {
    dispatch_floating(q.dtype(), [&]<class T>(T zero) { run(zero, zero); });
  }
  return o;
}

}  // namespace tapeformer
