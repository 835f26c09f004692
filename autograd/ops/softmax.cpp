#include "autograd/kernels/rows/softmax.h"

#include "autograd/ops/activations.h"
#include "autograd/ops/helpers/op_helpers.h"

namespace tapeformer {
namespace {

// A function of each row (last axis) whose backward needs only dy and y. Kernels gives the name and the two kernels.
template <class Kernels>
struct RowFunction {
  static constexpr const char* kName = Kernels::kName;
  Tensor y;
  Tensor forward(OpContext& context, const Tensor& x) {
    check(x.rank() >= 1, kName, ": expected at least one axis, got a scalar");
    const Tensor out = map(kName, x, [cols = x.size(-1)](auto* y, const auto* in, std::int64_t n) {
      Kernels::forward(y, in, cols ? n / cols : 0, cols);
    });
    if (context.recording()) y = out;
    return out;
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous(), cols = y.size(-1)]<class T>(T* out, T beta) {
      Kernels::backward(out, g.data<T>(), y.data<T>(), cols ? y.numel() / cols : 0, cols, beta);
    });
  }
};

// y = e^(x − max x)/Σ_j e^(x_j − max x);  dx = y·(dy − Σ_j dy_j y_j)
struct Softmax {
  static constexpr const char* kName = "softmax";
  static void forward(auto* y, auto* x, std::int64_t rows, std::int64_t cols) {
    kernels::softmax_forward(y, x, rows, cols);
  }
  static void backward(auto* dx, auto* dy, auto* y, std::int64_t rows, std::int64_t cols, auto beta) {
    kernels::softmax_backward(dx, dy, y, rows, cols, beta);
  }
};

// y = x − max x − ln Σ_j e^(x_j − max x);  dx = dy − e^y·Σ_j dy_j
struct LogSoftmax {
  static constexpr const char* kName = "log_softmax";
  static void forward(auto* y, auto* x, std::int64_t rows, std::int64_t cols) {
    kernels::log_softmax_forward(y, x, rows, cols);
  }
  static void backward(auto* dx, auto* dy, auto* y, std::int64_t rows, std::int64_t cols, auto beta) {
    kernels::log_softmax_backward(dx, dy, y, rows, cols, beta);
  }
};

}  // namespace

Variable softmax(const Variable& x) { return record(RowFunction<Softmax>{}, x); }
Variable log_softmax(const Variable& x) { return record(RowFunction<LogSoftmax>{}, x); }

}  // namespace tapeformer
