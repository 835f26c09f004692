#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/reduce.h"
#include "autograd/ops/matrix_view.h"
#include "autograd/ops/op_helpers.h"
#include "autograd/ops/ops.h"

namespace tapeformer {
namespace {

// y = x Wᵀ + b;  dx = dy W, dW = dyᵀ x, db = Σ_rows dy
struct Linear {
  static constexpr const char* kName = "linear";
  Tensor x, weight;  // x as (rows, in)
  Dims x_sizes;

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& w, const Tensor& bias) {
    x_sizes = in.sizes();
    const std::int64_t features = w.size(1), outputs = w.size(0);
    const Tensor matrix = readable_by_blas(in.reshape({features ? in.numel() / features : 0, features}));
    const Tensor w_matrix = readable_by_blas(w);
    const std::int64_t rows = matrix.size(0);
    Dims sizes = x_sizes;
    sizes[sizes.rank() - 1] = outputs;
    const Tensor y = Tensor::empty(sizes, in.dtype());
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      kernels::gemm(y.data<T>(), outputs, matrix_view<T>(matrix), matrix_view<T>(w_matrix, true), rows, outputs,
                    features, T{1}, T{0});
      if (bias.defined()) kernels::add_bias(y.data<T>(), bias.contiguous().data<T>(), rows, outputs);
    });
    if (context.recording()) x = matrix, weight = w_matrix;
    return y;
  }

  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dweight, GradSlot& dbias) {
    const std::int64_t rows = x.size(0), features = x.size(1), outputs = weight.size(0);
    const Tensor g = readable_by_blas(dy.reshape({rows, outputs}));
    write_gradient(dx, [&]<class T>(T* out, T beta) {
      kernels::gemm(out, features, matrix_view<T>(g), matrix_view<T>(weight), rows, features, outputs, T{1}, beta);
    });
    write_gradient(dweight, [&]<class T>(T* out, T beta) {
      kernels::gemm(out, features, matrix_view<T>(g, true), matrix_view<T>(x), outputs, features, rows, T{1}, beta);
    });
    write_gradient(dbias, [&, dense = g.contiguous()]<class T>(T* out, T beta) {
      kernels::sum_middle(out, dense.data<T>(), std::int64_t{1}, rows, outputs, beta);
    });
  }
};

}  // namespace

Variable linear(const Variable& x, const Variable& weight, const Variable& bias) {
  check(weight.value().rank() == 2 && x.value().rank() >= 1 && x.size(-1) == weight.size(1), "linear: x is ", x.sizes(),
        ", weight is ", weight.sizes(), ": expected x (..., in) and weight (out, in)");
  check(!bias.defined() || bias.sizes() == Dims{weight.size(0)}, "linear: weight is ", weight.sizes(), ", bias is ",
        bias.sizes(), ": expected bias (", weight.size(0), ")");
  return record(Linear{}, x, weight, bias);
}

}  // namespace tapeformer
