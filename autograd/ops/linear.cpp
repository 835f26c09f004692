#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/reduce.h"
#include "autograd/ops/helpers/linear_helpers.h"
#include "autograd/ops/helpers/matrix_view.h"

namespace tapeformer {
namespace {

// y = x Wᵀ + b;  dx = dy W, dW = dyᵀ x, db = Σ_rows dy
struct Linear {
  static constexpr const char* kName = "linear";
  Saved x, weight;
  std::int64_t rows = 0, features = 0, outputs = 0;

  Tensor forward(OpContext& context, const Tensor& in, const Tensor& w, const Tensor& bias) {
    features = w.size(1), outputs = w.size(0), rows = row_count(in);
    const Tensor source = readable_by_blas(in.reshape({rows, features})), matrix = readable_by_blas(w);
    Dims sizes = in.sizes();
    sizes[sizes.rank() - 1] = outputs;
    const Tensor y = Tensor::empty(sizes, in.dtype());
    dispatch_floating(in.dtype(), [&]<class T>(T) { multiply_by_weight(y.data<T>(), T{0}, source, matrix, true); });
    add_bias(y, bias);
    x = context.save(0, source);
    weight = context.save(1, matrix);
    return y;
  }

  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dweight, GradSlot& dbias) {
    const Tensor g = readable_by_blas(dy.reshape({rows, outputs}));
    write_gradient(dweight, [&]<class T>(T* out, T beta) {
      multiply(out, beta, g, true, x.get().reshape({rows, features}), false);
    });
    x = {};  // frees x before its gradient is allocated
    write_gradient(dx, [&]<class T>(T* out, T beta) { multiply_by_weight(out, beta, g, weight.get(), false); });
    write_bias_gradient(dbias, dy);
  }
};

}  // namespace

void add_bias(const Tensor& y, const Tensor& bias) {
  if (!bias.defined()) return;
  dispatch_floating(y.dtype(), [&]<class T>(T) {
    const std::int64_t outputs = bias.numel();
    kernels::add_bias(y.data<T>(), bias.contiguous().data<T>(), outputs ? y.numel() / outputs : 0, outputs);
  });
}

void write_bias_gradient(GradSlot& dbias, const Tensor& dy) {
  write_gradient(dbias, [&, dense = dy.contiguous()]<class T>(T* out, T beta) {
    const std::int64_t outputs = dense.size(-1), rows = outputs ? dense.numel() / outputs : 0;
    kernels::sum_axis(out, dense.data<T>(), std::int64_t{1}, rows, outputs, beta);
  });
}

void check_linear(const char* op, const Variable& x, const Variable& weight, const Variable& bias) {
  check(weight.value().rank() == 2 && x.value().rank() >= 1 && x.size(-1) == weight.size(1), op, ": x is ", x.sizes(),
        ", weight is ", weight.sizes(), ": expected x (..., in) and weight (out, in)");
  check(!bias.defined() || bias.sizes() == Dims{weight.size(0)}, op, ": weight is ", weight.sizes(), ", bias is ",
        bias.sizes(), ": expected bias (", weight.size(0), ")");
}

Variable linear(const Variable& x, const Variable& weight, const Variable& bias) {
  check_linear("linear", x, weight, bias);
  return record(Linear{}, x, weight, bias);
}

}  // namespace tapeformer
