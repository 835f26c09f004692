#include "autograd/kernels/elementwise/activations.h"

#include "autograd/kernels/simd/simd-inl.h"
#include "autograd/kernels/simd/vector_math-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

template <class T>
void tanh_forward(T* y, const T* x, std::int64_t n) {
  map(
      y, T{0}, n, [](auto d, auto x) SIMD_LAMBDA { return tanh(d, x); }, x);
}
template <class T>
void tanh_backward(T* dx, const T* dy, const T* y, T beta, std::int64_t n) {
  const auto gradient = [](auto d, auto dy, auto y)
                            SIMD_LAMBDA { return hn::Mul(dy, hn::NegMulAdd(y, y, hn::Set(d, 1))); };
  map(dx, beta, n, gradient, dy, y);
}

template <class T>
void sigmoid_forward(T* y, const T* x, std::int64_t n) {
  map(
      y, T{0}, n, [](auto d, auto x) SIMD_LAMBDA { return sigmoid(d, x); }, x);
}
template <class T>
void sigmoid_backward(T* dx, const T* dy, const T* y, T beta, std::int64_t n) {
  const auto gradient = [](auto, auto dy, auto y) SIMD_LAMBDA { return hn::Mul(dy, hn::NegMulAdd(y, y, y)); };
  map(dx, beta, n, gradient, dy, y);
}

// ln(1 + e^x) = max(x, 0) + ln(1 + e), e = e^−|x|. With w = 1 + e rounded, ln(1 + e) = ln(w)·e/(w − 1) has no
// cancellation; it is e where w is 1.
template <class T>
void softplus_forward(T* y, const T* x, std::int64_t n) {
  const auto softplus = [](auto d, auto x) SIMD_LAMBDA {
    const auto one = hn::Set(d, 1), e = exp(d, hn::Neg(hn::Abs(x))), w = hn::Add(one, e);
    const auto log1p = hn::IfThenElse(hn::Eq(w, one), e, hn::Div(hn::Mul(log(d, w), e), hn::Sub(w, one)));
    return hn::Add(at_least(x, hn::Zero(d)), log1p);
  };
  map(y, T{0}, n, softplus, x);
}
template <class T>
void softplus_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n) {
  const auto gradient = [](auto d, auto dy, auto x) SIMD_LAMBDA { return hn::Mul(dy, sigmoid(d, x)); };
  map(dx, beta, n, gradient, dy, x);
}

// What the activations below return at x: the value, and the derivative.
template <class V>
struct ValueAndSlope {
  V value, slope;
};

// The comparison of the slope is written so that dy passes where x is NaN.
struct Relu {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE ValueAndSlope<V> at(D d, V x) {
    return {at_least(x, hn::Zero(d)), hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), hn::Set(d, 1))};
  }
};

struct ReluSquared {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE ValueAndSlope<V> at(D d, V x) {
    const V positive = at_least(x, hn::Zero(d));
    return {hn::Mul(positive, positive), hn::Add(positive, positive)};
  }
};

// x Φ(x) = max(x, 0) − |x| Φ(−|x|): neither side cancels, and the result at −∞ is finite.
struct Gelu {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE ValueAndSlope<V> at(D d, V x) {
    const auto normal = normal_tail(d, x);
    // Φ(x) + x φ(x) at −|x|; at |x| it is 1 minus that.
    const V below = hn::NegMulAdd(hn::Mul(normal.z, hn::Set(d, 0.3989422804014327)), normal.bell, normal.tail);
    return {hn::NegMulAdd(normal.z, normal.tail, at_least(x, hn::Zero(d))),
            hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 1), below), below)};
  }
};

// x σ(2u) with the logistic function σ(2u) = (1 + tanh u)/2 = 1/(1 + e^(−2u)). Beyond ±limit the result rounds to x
// or 0; within the limit e^(−2u) is finite.
struct GeluTanh {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE ValueAndSlope<V> at(D d, V x) {
    const double k = 1.5957691216057308;  // 2√(2/π)
    const auto limit = hn::Set(d, std::is_same_v<hn::TFromD<D>, float> ? 10 : 21), one = hn::Set(d, 1);
    const V from_below = at_least(x, hn::Neg(limit)), z = at_most(from_below, limit), square = hn::Mul(z, z);
    const V e = exp(d, hn::Mul(z, hn::MulAdd(square, hn::Set(d, -k * 0.044715), hn::Set(d, -k))));  // e^(−2u)
    const V sigma = hn::Div(one, hn::Add(one, e));
    // d(x σ(2u))/dx = σ + x·σ(1 − σ)·2u',  1 − σ = e^(−2u) σ
    const V du = hn::MulAdd(square, hn::Set(d, k * 3 * 0.044715), hn::Set(d, k));
    const V slope = hn::Mul(hn::Mul(z, du), hn::Mul(e, sigma));
    return {hn::Div(from_below, hn::Add(one, e)), hn::MulAdd(slope, sigma, sigma)};
  }
};

template <class Activation, class T>
void activate(T* y, const T* x, std::int64_t n) {
  map(
      y, T{0}, n, [](auto d, auto x) SIMD_LAMBDA { return Activation::at(d, x).value; }, x);
}
template <class Activation, class T>
void activate_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n) {
  const auto gradient = [](auto d, auto dy, auto x) SIMD_LAMBDA { return hn::Mul(dy, Activation::at(d, x).slope); };
  map(dx, beta, n, gradient, dy, x);
}
template <class T>
constexpr auto& relu_forward = activate<Relu, T>;
template <class T>
constexpr auto& relu_backward = activate_backward<Relu, T>;
template <class T>
constexpr auto& gelu_forward = activate<Gelu, T>;
template <class T>
constexpr auto& gelu_backward = activate_backward<Gelu, T>;
template <class T>
constexpr auto& gelu_tanh_forward = activate<GeluTanh, T>;
template <class T>
constexpr auto& gelu_tanh_backward = activate_backward<GeluTanh, T>;

// x σ(x), with the slope σ + x σ (1 − σ).
struct Silu {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE ValueAndSlope<V> at(D d, V x) {
    const V sigma = sigmoid(d, x), value = hn::Mul(x, sigma);
    return {value, hn::MulAdd(value, hn::Sub(hn::Set(d, 1), sigma), sigma)};
  }
};

// Calls f with the Activation of this kind: of the gate where it is gated.
template <class F>
HWY_INLINE void with_activation(ActivationKind kind, const F& f) {
  switch (kind) {
    case ActivationKind::relu:
      return f(Relu());
    case ActivationKind::relu2:
      return f(ReluSquared());
    case ActivationKind::gelu:
      return f(Gelu());
    case ActivationKind::gelu_tanh:
      return f(GeluTanh());
    case ActivationKind::swiglu:
      return f(Silu());
    case ActivationKind::geglu:
      return f(Gelu());
  }
}

// Calls f(j, x + bias) for the vectors of one row.
template <class T, class F>
HWY_INLINE void for_biased(const T* x, const T* bias, std::int64_t cols, const F& f) {
  const hn::ScalableTag<T> d;
  for (std::int64_t j = 0; j < cols; j += lanes(d)) {
    const auto value = load(d, x + j, cols - j);
    f(j, bias ? hn::Add(value, load(d, bias + j, cols - j)) : value);
  }
}

template <class T>
void bias_activation_forward(ActivationKind kind, T* y, const T* x, const T* bias, std::int64_t rows,
                             std::int64_t cols) {
  const hn::ScalableTag<T> d;
  with_activation(kind, [=](auto activation) SIMD_LAMBDA {
    for (std::int64_t row = 0; row < rows; ++row) {
      T* const to = y + row * cols;
      for_biased(x + row * cols, bias, cols, [=](std::int64_t j, auto value) SIMD_LAMBDA {
        store(d, decltype(activation)::at(d, value).value, to + j, cols - j);
      });
    }
  });
}

template <class T>
void bias_activation_backward(ActivationKind kind, T* x, T* dy, const T* bias, std::int64_t rows, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  with_activation(kind, [=](auto activation) SIMD_LAMBDA {
    for (std::int64_t row = 0; row < rows; ++row) {
      T *const x_row = x + row * cols, *const dy_row = dy + row * cols;
      for_biased(x_row, bias, cols, [=](std::int64_t j, auto value) SIMD_LAMBDA {
        const auto at = decltype(activation)::at(d, value);
        store(d, at.value, x_row + j, cols - j);
        store(d, hn::Mul(load(d, dy_row + j, cols - j), at.slope), dy_row + j, cols - j);
      });
    }
  });
}

// Calls f(j, g, u) for the vectors of one row (2·cols) plus bias.
template <class T, class F>
HWY_INLINE void for_gated(const T* x, const T* bias, std::int64_t cols, const F& f) {
  const hn::ScalableTag<T> d;
  for_biased(x, bias, cols, [=](std::int64_t j, auto gate) SIMD_LAMBDA {
    const auto up = load(d, x + cols + j, cols - j);
    f(j, gate, bias ? hn::Add(up, load(d, bias + cols + j, cols - j)) : up);
  });
}

template <class T>
void gated_activation_forward(ActivationKind kind, T* y, const T* x, const T* bias, std::int64_t rows,
                              std::int64_t cols) {
  const hn::ScalableTag<T> d;
  with_activation(kind, [=](auto activation) SIMD_LAMBDA {
    for (std::int64_t row = 0; row < rows; ++row) {
      T* const to = y + row * cols;
      for_gated(x + row * 2 * cols, bias, cols, [=](std::int64_t j, auto gate, auto up) SIMD_LAMBDA {
        store(d, hn::Mul(decltype(activation)::at(d, gate).value, up), to + j, cols - j);
      });
    }
  });
}

template <class T>
void gated_activation_backward(ActivationKind kind, T* x, T* dy, const T* bias, std::int64_t rows, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  with_activation(kind, [=](auto activation) SIMD_LAMBDA {
    for (std::int64_t row = 0; row < rows; ++row) {
      T *const x_row = x + row * 2 * cols, *const dy_row = dy + row * cols;
      for_gated(x_row, bias, cols, [=](std::int64_t j, auto gate, auto up) SIMD_LAMBDA {
        const auto at = decltype(activation)::at(d, gate);
        const auto g = load(d, dy_row + j, cols - j);
        store(d, hn::Mul(hn::Mul(g, up), at.slope), x_row + j, cols - j);
        store(d, hn::Mul(g, at.value), x_row + cols + j, cols - j);
        store(d, hn::Mul(at.value, up), dy_row + j, cols - j);
      });
    }
  });
}

SIMD_FLOATS(relu_forward);
SIMD_FLOATS(relu_backward);
SIMD_FLOATS(tanh_forward);
SIMD_FLOATS(tanh_backward);
SIMD_FLOATS(sigmoid_forward);
SIMD_FLOATS(sigmoid_backward);
SIMD_FLOATS(softplus_forward);
SIMD_FLOATS(softplus_backward);
SIMD_FLOATS(gelu_forward);
SIMD_FLOATS(gelu_backward);
SIMD_FLOATS(gelu_tanh_forward);
SIMD_FLOATS(gelu_tanh_backward);
SIMD_FLOATS(bias_activation_forward);
SIMD_FLOATS(bias_activation_backward);
SIMD_FLOATS(gated_activation_forward);
SIMD_FLOATS(gated_activation_backward);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

#define TAPEFORMER_FORWARD(name)                                                                      \
  SIMD_EXPORT(name);                                                                                  \
  template <class T>                                                                                  \
  void name(T* y, const T* x, std::int64_t n) {                                                       \
    const Span span(SpanKind::kernel, #name, {.bytes = 2.0 * sizeof(T) * n});                         \
    parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(name, T)(y + i, x + i, end - i); }); \
  }                                                                                                   \
  SIMD_INSTANTIATE(name)
// `saved` is the tensor that forward kept: its input or its output.
#define TAPEFORMER_BACKWARD(name)                                             \
  SIMD_EXPORT(name);                                                          \
  template <class T>                                                          \
  void name(T* dx, const T* dy, const T* saved, T beta, std::int64_t n) {     \
    const Span span(SpanKind::kernel, #name, {.bytes = 3.0 * sizeof(T) * n}); \
    parallel_for(0, n, kGrain, [&](auto i, auto end) {                        \
      SIMD_CALL(name, T)(dx + i, dy + i, saved + i, beta, end - i);           \
    });                                                                       \
  }                                                                           \
  SIMD_INSTANTIATE(name)

TAPEFORMER_FORWARD(relu_forward);
TAPEFORMER_BACKWARD(relu_backward);
TAPEFORMER_FORWARD(tanh_forward);
TAPEFORMER_BACKWARD(tanh_backward);
TAPEFORMER_FORWARD(sigmoid_forward);
TAPEFORMER_BACKWARD(sigmoid_backward);
TAPEFORMER_FORWARD(softplus_forward);
TAPEFORMER_BACKWARD(softplus_backward);
TAPEFORMER_FORWARD(gelu_forward);
TAPEFORMER_BACKWARD(gelu_backward);
TAPEFORMER_FORWARD(gelu_tanh_forward);
TAPEFORMER_BACKWARD(gelu_tanh_backward);

SIMD_EXPORT(bias_activation_forward);
template <class T>
void bias_activation_forward(ActivationKind kind, T* y, const T* x, const T* bias, std::int64_t rows,
                             std::int64_t cols) {
  const Span span(SpanKind::kernel, "bias_activation_forward", {.bytes = 2.0 * sizeof(T) * rows * cols});
  parallel_for(0, rows, rows_per_chunk(cols), [&](auto row, auto end) {
    SIMD_CALL(bias_activation_forward, T)(kind, y + row * cols, x + row * cols, bias, end - row, cols);
  });
}
SIMD_INSTANTIATE(bias_activation_forward);

SIMD_EXPORT(bias_activation_backward);
template <class T>
void bias_activation_backward(ActivationKind kind, T* x, T* dy, const T* bias, std::int64_t rows, std::int64_t cols) {
  const Span span(SpanKind::kernel, "bias_activation_backward", {.bytes = 4.0 * sizeof(T) * rows * cols});
  parallel_for(0, rows, rows_per_chunk(cols), [&](auto row, auto end) {
    SIMD_CALL(bias_activation_backward, T)(kind, x + row * cols, dy + row * cols, bias, end - row, cols);
  });
}
SIMD_INSTANTIATE(bias_activation_backward);

SIMD_EXPORT(gated_activation_forward);
template <class T>
void gated_activation_forward(ActivationKind kind, T* y, const T* x, const T* bias, std::int64_t rows,
                              std::int64_t cols) {
  const Span span(SpanKind::kernel, "gated_activation_forward", {.bytes = 3.0 * sizeof(T) * rows * cols});
  parallel_for(0, rows, rows_per_chunk(2 * cols), [&](auto row, auto end) {
    SIMD_CALL(gated_activation_forward, T)(kind, y + row * cols, x + row * 2 * cols, bias, end - row, cols);
  });
}
SIMD_INSTANTIATE(gated_activation_forward);

SIMD_EXPORT(gated_activation_backward);
template <class T>
void gated_activation_backward(ActivationKind kind, T* x, T* dy, const T* bias, std::int64_t rows, std::int64_t cols) {
  const Span span(SpanKind::kernel, "gated_activation_backward", {.bytes = 6.0 * sizeof(T) * rows * cols});
  parallel_for(0, rows, rows_per_chunk(2 * cols), [&](auto row, auto end) {
    SIMD_CALL(gated_activation_backward, T)(kind, x + row * 2 * cols, dy + row * cols, bias, end - row, cols);
  });
}
SIMD_INSTANTIATE(gated_activation_backward);

}  // namespace tapeformer::kernels
#endif
