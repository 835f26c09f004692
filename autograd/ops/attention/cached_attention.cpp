#include "autograd/kernels/attention/cached_attention.h"

#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/ops/attention/attention_heads.h"

namespace tapeformer {

Tensor cached_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  constexpr auto kName = "cached_attention";
  check(k.dtype() == v.dtype() && (k.dtype() == q.dtype() || (k.dtype() == DType::bf16 && q.dtype() == DType::f32)),
        kName, ": q is ", q.dtype(), ", k is ", k.dtype(), ", v is ", v.dtype());
  const AttentionOptions checked = checked_attention(kName, q, k, v, options);
  const Tensor dense_q = with_dense_heads(q);
  const kernels::AttentionShape shape = shape_of(dense_q, k, v, checked);
  // Several queries of a head are faster by the op, and only that gives a query the same bits for any number of them.
  if (!kernels::cached_attention_takes(shape) || kernels::BatchInvariant::is_on()) {
    Tape tape(no_grad);
    const auto constant = [&](const Tensor& x) { return Variable::constant(tape, x.to(q.dtype())); };
    return scaled_dot_product_attention(constant(q), constant(k), constant(v), checked).value();
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
