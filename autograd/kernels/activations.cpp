#include "autograd/kernels/activations.h"

#include "autograd/core/parallel.h"
#include "autograd/core/profile.h"
#include "autograd/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "autograd/kernels/activations.cpp"
#include "hwy/foreach_target.h"
// Once per target, so after it.
#include "autograd/kernels/simd-inl.h"
#include "autograd/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// Comparisons are written so that NaN passes.
template <class T>
void relu_forward(T* y, const T* x, std::int64_t n) {
  map(
      y, T{0}, n, [](auto d, auto x) SIMD_LAMBDA { return at_least(x, hn::Zero(d)); }, x);
}
template <class T>
void relu_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n) {
  const auto gradient = [](auto d, auto dy, auto x)
                            SIMD_LAMBDA { return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), dy); };
  map(dx, beta, n, gradient, dy, x);
}

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

// x Φ(x) = max(x, 0) − |x| Φ(−|x|): no cancellation on either side, and finite at −∞.
template <class T>
void gelu_forward(T* y, const T* x, std::int64_t n) {
  const auto gelu = [](auto d, auto x) SIMD_LAMBDA {
    const auto normal = normal_tail(d, x);
    return hn::NegMulAdd(normal.z, normal.tail, at_least(x, hn::Zero(d)));
  };
  map(y, T{0}, n, gelu, x);
}
template <class T>
void gelu_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n) {
  const auto gradient = [](auto d, auto dy, auto x) SIMD_LAMBDA {
    const auto normal = normal_tail(d, x);
    // Φ(x) + x φ(x) for −|x|; for |x| it is 1 less that.
    const auto below = hn::NegMulAdd(hn::Mul(normal.z, hn::Set(d, 0.3989422804014327)), normal.bell, normal.tail);
    return hn::Mul(dy, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 1), below), below));
  };
  map(dx, beta, n, gradient, dy, x);
}

// Beyond ±limit GPT-2's GELU is x or 0 to the last bit; within it e^(−2u) is finite.
template <class T>
constexpr double kGeluLimit = std::is_same_v<T, float> ? 10 : 21;

// With σ the logistic function (1 + tanh u)/2 = σ(2u); returned as e^(−2u).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_minus_2u(D d, V x) {
  const double k = 1.5957691216057308;  // 2√(2/π)
  const V slope = hn::MulAdd(hn::Mul(x, x), hn::Set(d, -k * 0.044715), hn::Set(d, -k));
  return exp(d, hn::Mul(x, slope));
}

template <class T>
void gelu_tanh_forward(T* y, const T* x, std::int64_t n) {
  const auto gelu = [](auto d, auto x) SIMD_LAMBDA {
    x = at_least(x, hn::Set(d, -kGeluLimit<T>));
    const auto e = exp_of_minus_2u(d, at_most(x, hn::Set(d, kGeluLimit<T>)));
    return hn::Div(x, hn::Add(hn::Set(d, 1), e));
  };
  map(y, T{0}, n, gelu, x);
}
// d(x σ(2u))/dx = σ + x·σ(1 − σ)·2u',  1 − σ = e^(−2u) σ
template <class T>
void gelu_tanh_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n) {
  const auto gradient = [](auto d, auto dy, auto x) SIMD_LAMBDA {
    const double k = 1.5957691216057308;
    const auto one = hn::Set(d, 1);
    x = at_most(at_least(x, hn::Set(d, -kGeluLimit<T>)), hn::Set(d, kGeluLimit<T>));
    const auto e = exp_of_minus_2u(d, x);
    const auto sigma = hn::Div(one, hn::Add(one, e));
    const auto du = hn::MulAdd(hn::Mul(x, x), hn::Set(d, k * 3 * 0.044715), hn::Set(d, k));
    const auto slope = hn::Mul(hn::Mul(x, du), hn::Mul(e, sigma));
    return hn::Mul(dy, hn::MulAdd(slope, sigma, sigma));
  };
  map(dx, beta, n, gradient, dy, x);
}

SIMD_FLOATS(relu_forward);
SIMD_FLOATS(relu_backward);
SIMD_FLOATS(tanh_forward);
SIMD_FLOATS(tanh_backward);
SIMD_FLOATS(sigmoid_forward);
SIMD_FLOATS(sigmoid_backward);
SIMD_FLOATS(gelu_forward);
SIMD_FLOATS(gelu_backward);
SIMD_FLOATS(gelu_tanh_forward);
SIMD_FLOATS(gelu_tanh_backward);

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
// `saved` is what forward kept: its input or its output.
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
TAPEFORMER_FORWARD(gelu_forward);
TAPEFORMER_BACKWARD(gelu_backward);
TAPEFORMER_FORWARD(gelu_tanh_forward);
TAPEFORMER_BACKWARD(gelu_tanh_backward);

}  // namespace tapeformer::kernels
#endif
