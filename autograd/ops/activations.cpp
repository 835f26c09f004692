#include "autograd/kernels/activations.h"

#include "autograd/ops/op_helpers.h"
#include "autograd/ops/ops.h"

namespace tapeformer {
namespace {

// An activation is a name, its two kernels, and which of x and y the derivative (written in kernels/activations.h) is a
// function of.
enum class Saves { input, output };

template <class Kernels>
struct Activation {
  static constexpr const char* kName = Kernels::kName;
  Tensor saved;
  Tensor forward(OpContext& context, const Tensor& x) {
    const Tensor y = map(x, [](auto* y, const auto* in, std::int64_t n) { Kernels::forward(y, in, n); });
    if (context.recording()) saved = Kernels::kSaves == Saves::input ? x.contiguous() : y;
    return y;
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      Kernels::backward(out, g.data<T>(), saved.data<T>(), beta, g.numel());
    });
  }
};

struct Relu {
  static constexpr const char* kName = "relu";
  static constexpr Saves kSaves = Saves::input;
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::relu_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* x, auto beta, std::int64_t n) {
    kernels::relu_backward(dx, dy, x, beta, n);
  }
};

struct Tanh {
  static constexpr const char* kName = "tanh";
  static constexpr Saves kSaves = Saves::output;
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::tanh_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* y, auto beta, std::int64_t n) {
    kernels::tanh_backward(dx, dy, y, beta, n);
  }
};

struct Sigmoid {
  static constexpr const char* kName = "sigmoid";
  static constexpr Saves kSaves = Saves::output;
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::sigmoid_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* y, auto beta, std::int64_t n) {
    kernels::sigmoid_backward(dx, dy, y, beta, n);
  }
};

struct Gelu {
  static constexpr const char* kName = "gelu";
  static constexpr Saves kSaves = Saves::input;
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::gelu_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* x, auto beta, std::int64_t n) {
    kernels::gelu_backward(dx, dy, x, beta, n);
  }
};

struct GeluTanh {
  static constexpr const char* kName = "gelu_tanh";
  static constexpr Saves kSaves = Saves::input;
  static void forward(auto* y, auto* x, std::int64_t n) { kernels::gelu_tanh_forward(y, x, n); }
  static void backward(auto* dx, auto* dy, auto* x, auto beta, std::int64_t n) {
    kernels::gelu_tanh_backward(dx, dy, x, beta, n);
  }
};

}  // namespace

Variable relu(const Variable& x) { return record(Activation<Relu>{}, x); }
Variable tanh(const Variable& x) { return record(Activation<Tanh>{}, x); }
Variable sigmoid(const Variable& x) { return record(Activation<Sigmoid>{}, x); }
Variable gelu(const Variable& x) { return record(Activation<Gelu>{}, x); }
Variable gelu_tanh(const Variable& x) { return record(Activation<GeluTanh>{}, x); }

}  // namespace tapeformer
