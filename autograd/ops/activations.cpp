#include "autograd/kernels/elementwise/activations.h"

#include "autograd/kernels/elementwise/softcap.h"
#include "autograd/ops/activations.h"
#include "autograd/ops/helpers/unary.h"

namespace tapeformer {
namespace {

// y = max(x, 0);  dx = dy·[x > 0]
using Relu = RecomputesOutput<"relu", [](auto... a) { kernels::relu_forward(a...); },
                              [](auto... a) { kernels::relu_backward(a...); }>;

// y = ln(1 + e^x);  dx = dy/(1 + e^−x)
using Softplus = RecomputesOutput<"softplus", [](auto... a) { kernels::softplus_forward(a...); },
                                  [](auto... a) { kernels::softplus_backward(a...); }>;

// y = x Φ(x), Φ(x) = (1 + erf(x/√2))/2;  dx = dy·(Φ(x) + x φ(x)), φ = Φ'
using Gelu = RecomputesOutput<"gelu", [](auto... a) { kernels::gelu_forward(a...); },
                              [](auto... a) { kernels::gelu_backward(a...); }>;

// y = x/2·(1 + tanh u), u = √(2/π)(x + 0.044715x³);  dx = dy·(½(1 + tanh u) + x/2·(1 − tanh² u)·u')
using GeluTanh = RecomputesOutput<"gelu_tanh", [](auto... a) { kernels::gelu_tanh_forward(a...); },
                                  [](auto... a) { kernels::gelu_tanh_backward(a...); }>;

// y = tanh x;  dx = dy·(1 − y²)
using Tanh = KeepsOutput<"tanh", [](auto... a) { kernels::tanh_forward(a...); },
                         [](auto... a) { kernels::tanh_backward(a...); }>;

// y = 1/(1 + e^−x);  dx = dy·y·(1 − y)
using Sigmoid = KeepsOutput<"sigmoid", [](auto... a) { kernels::sigmoid_forward(a...); },
                            [](auto... a) { kernels::sigmoid_backward(a...); }>;

// y = c·tanh(x/c);  dx = dy·(1 − (y/c)²)
struct Softcap {
  static constexpr const char* kName = "softcap";
  double cap;
  Tensor y = {};
  Tensor forward(OpContext& context, const Tensor& in) {
    const Tensor out = map(kName, in, [&]<class T>(T* to, const T* x, std::int64_t n) {
      kernels::softcap_forward(to, x, static_cast<T>(cap), n);
    });
    if (context.recording()) y = out;
    return out;
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      kernels::softcap_backward(out, g.data<T>(), y.data<T>(), static_cast<T>(cap), beta, g.numel());
    });
  }
};

}  // namespace

Variable relu(const Variable& x) { return record(Relu{}, x); }
Variable tanh(const Variable& x) { return record(Tanh{}, x); }
Variable sigmoid(const Variable& x) { return record(Sigmoid{}, x); }
Variable softplus(const Variable& x) { return record(Softplus{}, x); }
Variable gelu(const Variable& x) { return record(Gelu{}, x); }
Variable gelu_tanh(const Variable& x) { return record(GeluTanh{}, x); }
Variable softcap(const Variable& x, double cap) {
  check(cap > 0, "softcap: expected a cap above 0, got ", cap);
  return record(Softcap{cap}, x);
}

}  // namespace tapeformer
