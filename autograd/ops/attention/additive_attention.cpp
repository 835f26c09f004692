#include "autograd/kernels/attention/additive_attention.h"

#include <array>

#include "autograd/kernels/reduce.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/helpers/op_helpers.h"

namespace tapeformer {
namespace {

// Additive attention of a query q over keys k_j and values v_j:
//   e_j = Σ_a w_a tanh(q_a + k_ja),  α = softmax(e) over the keys that are no padding,  o = Σ_j α_j v_j
// Backward, from the gradients do of o and dα of the weights:
//   dv_j = α_j do,  g_j = do·v_j + dα_j,  de_j = α_j (g_j − Σ_i α_i g_i)
//   dw_a = Σ_j de_j tanh(q_a + k_ja),  dk_ja = de_j w_a (1 − tanh²(q_a + k_ja)),  dq_a = Σ_j dk_ja
// where dk_j and dv_j are summed over the queries, and dw over queries and batch rows. Backward computes the tanh of
// all keys again instead of keeping it.
struct AdditiveAttention {
  static constexpr const char* kName = "additive_attention";
  Tensor key_lengths;
  std::array<Saved, 4> inputs = {};  // q, k, w, v
  Tensor weights = {};
  kernels::AdditiveShape shape = {};

  template <class T>
  static kernels::AdditiveInputs<T> pointers(std::span<const Tensor> in) {
    return {in[0].data<T>(), in[1].data<T>(), in[2].data<T>(), in[3].data<T>()};
  }

  std::vector<Tensor> forward(OpContext& context, std::span<const Tensor> in) {
    std::array<Tensor, 4> dense;
    for (std::size_t i = 0; i < dense.size(); ++i) {
      dense[i] = in[i].contiguous();
      inputs[i] = context.save(i, dense[i]);
    }
    const Tensor &q = in[0], &v = in[3];
    shape = {q.size(0), q.size(1), v.size(1), q.size(2), v.size(2), data_or_null<std::int32_t>(key_lengths)};
    weights = Tensor::empty({shape.batches, shape.queries, shape.keys}, q.dtype());
    const Tensor o = Tensor::empty({shape.batches, shape.queries, shape.value_dim}, q.dtype());
    dispatch_floating(q.dtype(), [&]<class T>(T) {
      kernels::additive_attention_forward(o.data<T>(), weights.data<T>(), pointers<T>(dense), shape);
    });
    return {o, weights};
  }

  void backward(std::span<const Tensor> dy, std::span<GradSlot> slots) {
    const std::array in{inputs[0].get(), inputs[1].get(), inputs[2].get(), inputs[3].get()};
    const Tensor dout = dy[0].defined() ? dy[0].contiguous() : Tensor();
    const Tensor dweights = dy[1].defined() ? dy[1].contiguous() : Tensor();
    // The kernel adds to its outputs, so a gradient that nobody has written yet is set to zero first.
    const auto sum_of = [&](std::size_t i) {
      const GradTarget target = target_or_none(slots[i]);
      if (target.tensor.defined() && target.beta == 0) target.tensor.fill(0);
      return target.tensor;
    };
    const Tensor dq = sum_of(0), dk = sum_of(1), dv = sum_of(3);
    const Tensor dw = slots[2].needed() ? Tensor::zeros({shape.batches, shape.dim}, in[0].dtype()) : Tensor();
    dispatch_floating(in[0].dtype(), [&]<class T>(T) {
      kernels::additive_attention_backward<T>(
          {data_or_null<T>(dq), data_or_null<T>(dk), data_or_null<T>(dw), data_or_null<T>(dv)}, data_or_null<T>(dout),
          data_or_null<T>(dweights), weights.data<T>(), pointers<T>(in), shape);
    });
    write_gradient(slots[2], [&]<class T>(T* out, T beta) {
      kernels::sum_axis(out, dw.data<T>(), std::int64_t{1}, shape.batches, shape.dim, beta);
    });
  }
};

}  // namespace

AttentionResult additive_attention(const Variable& q, const Variable& k, const Variable& weight, const Variable& v,
                                   const Tensor& key_lengths) {
  constexpr auto kName = AdditiveAttention::kName;
  const Dims &a = q.sizes(), &b = k.sizes(), &c = v.sizes();
  check(a.rank() == 3 && b.rank() == 3 && c.rank() == 3 && a[0] == b[0] && a[0] == c[0] && a[2] == b[2] && b[1] == c[1],
        kName, ": q is ", a, ", k is ", b, ", v is ", c, ": expected (B, T_q, d), (B, T_k, d) and (B, T_k, d_v)");
  check(weight.sizes() == Dims{a[2]}, kName, ": weight is ", weight.sizes(), ": expected (", a[2], ")");
  check(!key_lengths.defined() || (key_lengths.sizes() == Dims{a[0]} && key_lengths.dtype() == DType::i32), kName,
        ": expected key_lengths i32 (", a[0], "), got ", key_lengths.dtype(), " ", key_lengths.sizes());
  AdditiveAttention op{.key_lengths = key_lengths.defined() ? key_lengths.contiguous() : Tensor()};
  const std::vector<Variable> results = record_list(std::move(op), std::array{q, k, weight, v});
  return {results[0], results[1]};
}

}  // namespace tapeformer
