#include "autograd/kernels/rows/softmax.h"

#include "autograd/ops/activations.h"
#include "autograd/ops/helpers/unary.h"

namespace tapeformer {
namespace {

// A function of each row (last axis) whose backward needs only dy and y. Its kernels are forward(y, x, rows, cols) and
// backward(dx, dy, y, rows, cols, beta).
template <OpName kText, auto kForward, auto kBackward>
struct RowFunction {
  static constexpr const char* kName = kText.text;
  Tensor y;
  Tensor forward(OpContext& context, const Tensor& x) {
    check(x.rank() >= 1, kName, ": expected at least one axis, got a scalar");
    const Tensor out = map(kName, x, [cols = x.size(-1)](auto* y, const auto* in, std::int64_t n) {
      kForward(y, in, cols ? n / cols : 0, cols);
    });
    if (context.recording()) y = out;
    return out;
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous(), cols = y.size(-1)]<class T>(T* out, T beta) {
      kBackward(out, g.data<T>(), y.data<T>(), cols ? y.numel() / cols : 0, cols, beta);
    });
  }
};

// y = e^(x − max x)/Σ_j e^(x_j − max x);  dx = y·(dy − Σ_j dy_j y_j)
using Softmax = RowFunction<"softmax", [](auto... a) { kernels::softmax_forward(a...); },
                            [](auto... a) { kernels::softmax_backward(a...); }>;

// y = x − max x − ln Σ_j e^(x_j − max x);  dx = dy − e^y·Σ_j dy_j
using LogSoftmax = RowFunction<"log_softmax", [](auto... a) { kernels::log_softmax_forward(a...); },
                               [](auto... a) { kernels::log_softmax_backward(a...); }>;

}  // namespace

Variable softmax(const Variable& x) { return record(Softmax{}, x); }
Variable log_softmax(const Variable& x) { return record(LogSoftmax{}, x); }

}  // namespace tapeformer
