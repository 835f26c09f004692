#include "autograd/kernels/elementwise/activations.h"

#include "autograd/kernels/elementwise/softcap.h"
#include "autograd/ops/activations.h"
#include "autograd/ops/helpers/op_helpers.h"

namespace tapeformer {
namespace {

// An activation whose derivative is a function of x. Kernels gives the name and the two kernels. Ops that need its
// output in backward compute it again from x instead of keeping a copy.
template <class Kernels>
struct KeepsInput {
  static constexpr const char* kName = Kernels::kName;
  Tensor x;
  Tensor forward(OpContext& context, const Tensor& in) {
    if (context.recording()) x = in.contiguous();
    return activate(in);
  }
  Tensor recompute_output() const { return activate(x); }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      Kernels::backward(out, g.data<T>(), x.data<T>(), beta, g.numel());
    });
  }

 private:
  static Tensor activate(const Tensor& in) {
    return map(kName, in, [](auto* y, const auto* x, std::int64_t n) { Kernels::forward(y, x, n); });
  }
};

// An activation whose derivative is a function of the output y, which it keeps for backward.
template <class Kernels>
struct KeepsOutput {
  static constexpr const char* kName = Kernels::kName;
  Tensor y;
  Tensor forward(OpContext& context, const Tensor& in) {
    const Tensor out = map(kName, in, [](auto* to, const auto* x, std::int64_t n) { Kernels::forward(to, x, n); });
    if (context.recording()) y = out;
    return out;
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      Kernels::backward(out, g.data<T>(), y.data<T>(), beta, g.numel());
    });
  }
};

// y = max(x, 0);  dx = dy·[x > 0]
struct Relu {
  static constexpr const char* kName = "relu";
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::relu_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* x, auto beta, std::int64_t n) {
    kernels::relu_backward(dx, dy, x, beta, n);
  }
};

// y = tanh x;  dx = dy·(1 − y²)
struct Tanh {
  static constexpr const char* kName = "tanh";
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::tanh_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* y, auto beta, std::int64_t n) {
    kernels::tanh_backward(dx, dy, y, beta, n);
  }
};

// y = 1/(1 + e^−x);  dx = dy·y·(1 − y)
struct Sigmoid {
  static constexpr const char* kName = "sigmoid";
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::sigmoid_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* y, auto beta, std::int64_t n) {
    kernels::sigmoid_backward(dx, dy, y, beta, n);
  }
};

// y = ln(1 + e^x);  dx = dy/(1 + e^−x)
struct Softplus {
  static constexpr const char* kName = "softplus";
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::softplus_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* x, auto beta, std::int64_t n) {
    kernels::softplus_backward(dx, dy, x, beta, n);
  }
};

// y = x Φ(x), Φ(x) = (1 + erf(x/√2))/2;  dx = dy·(Φ(x) + x φ(x)), φ = Φ'
struct Gelu {
  static constexpr const char* kName = "gelu";
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::gelu_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* x, auto beta, std::int64_t n) {
    kernels::gelu_backward(dx, dy, x, beta, n);
  }
};

// y = x/2·(1 + tanh u), u = √(2/π)(x + 0.044715x³);  dx = dy·(½(1 + tanh u) + x/2·(1 − tanh² u)·u')
struct GeluTanh {
  static constexpr const char* kName = "gelu_tanh";
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::gelu_tanh_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* x, auto beta, std::int64_t n) {
    kernels::gelu_tanh_backward(dx, dy, x, beta, n);
  }
};

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

Variable relu(const Variable& x) { return record(KeepsInput<Relu>{}, x); }
Variable tanh(const Variable& x) { return record(KeepsOutput<Tanh>{}, x); }
Variable sigmoid(const Variable& x) { return record(KeepsOutput<Sigmoid>{}, x); }
Variable softplus(const Variable& x) { return record(KeepsInput<Softplus>{}, x); }
Variable gelu(const Variable& x) { return record(KeepsInput<Gelu>{}, x); }
Variable gelu_tanh(const Variable& x) { return record(KeepsInput<GeluTanh>{}, x); }
Variable softcap(const Variable& x, double cap) {
  check(cap > 0, "softcap: expected a cap above 0, got ", cap);
  return record(Softcap{cap}, x);
}

}  // namespace tapeformer
