#include "autograd/kernels/elementwise/piecewise.h"

#include "autograd/kernels/simd/simd-inl.h"
#include "autograd/kernels/simd/vector_math-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

template <class T>
void abs_forward(T* y, const T* x, std::int64_t n) {
  map(
      y, T{0}, n, [](auto, auto x) SIMD_LAMBDA { return hn::Abs(x); }, x);
}
template <class T>
void abs_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n) {
  const auto gradient = [](auto d, auto dy, auto x) SIMD_LAMBDA {
    const auto signed_dy = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(dy), dy);
    return hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), signed_dy);
  };
  map(dx, beta, n, gradient, dy, x);
}

template <class T>
void clamp_forward(T* y, const T* x, T low, T high, std::int64_t n) {
  map(
      y, T{0}, n, [=](auto d, auto x) SIMD_LAMBDA { return at_most(at_least(x, hn::Set(d, low)), hn::Set(d, high)); },
      x);
}
template <class T>
void clamp_backward(T* dx, const T* dy, const T* x, T low, T high, T beta, std::int64_t n) {
  const auto gradient = [=](auto d, auto dy, auto x) SIMD_LAMBDA {
    return hn::IfThenElseZero(hn::And(hn::Ge(x, hn::Set(d, low)), hn::Le(x, hn::Set(d, high))), dy);
  };
  map(dx, beta, n, gradient, dy, x);
}

template <class T>
void minimum_forward(T* y, const T* a, const T* b, std::int64_t n) {
  const auto smaller = [](auto, auto a, auto b)
                           SIMD_LAMBDA { return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b); };
  map(y, T{0}, n, smaller, a, b);
}
template <class T>
void maximum_forward(T* y, const T* a, const T* b, std::int64_t n) {
  const auto larger = [](auto, auto a, auto b)
                          SIMD_LAMBDA { return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b); };
  map(y, T{0}, n, larger, a, b);
}
template <class T>
void smaller_backward(T* da, const T* dy, const T* a, const T* b, T beta, std::int64_t n) {
  const auto gradient = [](auto d, auto dy, auto a, auto b) SIMD_LAMBDA {
    const auto half = hn::IfThenElseZero(hn::Eq(a, b), hn::Mul(dy, hn::Set(d, 0.5)));
    return hn::IfThenElse(hn::Lt(a, b), dy, half);
  };
  map(da, beta, n, gradient, dy, a, b);
}

SIMD_FLOATS(abs_forward);
SIMD_FLOATS(abs_backward);
SIMD_FLOATS(clamp_forward);
SIMD_FLOATS(clamp_backward);
SIMD_FLOATS(minimum_forward);
SIMD_FLOATS(maximum_forward);
SIMD_FLOATS(smaller_backward);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(abs_forward);
template <class T>
void abs_forward(T* y, const T* x, std::int64_t n) {
  const Span span(SpanKind::kernel, "abs_forward", {.bytes = 2.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(abs_forward, T)(y + i, x + i, end - i); });
}
SIMD_INSTANTIATE(abs_forward);

SIMD_EXPORT(abs_backward);
template <class T>
void abs_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n) {
  const Span span(SpanKind::kernel, "abs_backward", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) {
    SIMD_CALL(abs_backward, T)(dx + i, dy + i, x + i, beta, end - i);
  });
}
SIMD_INSTANTIATE(abs_backward);

SIMD_EXPORT(clamp_forward);
template <class T>
void clamp_forward(T* y, const T* x, T low, T high, std::int64_t n) {
  const Span span(SpanKind::kernel, "clamp_forward", {.bytes = 2.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(clamp_forward, T)(y + i, x + i, low, high, end - i); });
}
SIMD_INSTANTIATE(clamp_forward);

SIMD_EXPORT(clamp_backward);
template <class T>
void clamp_backward(T* dx, const T* dy, const T* x, T low, T high, T beta, std::int64_t n) {
  const Span span(SpanKind::kernel, "clamp_backward", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) {
    SIMD_CALL(clamp_backward, T)(dx + i, dy + i, x + i, low, high, beta, end - i);
  });
}
SIMD_INSTANTIATE(clamp_backward);

SIMD_EXPORT(minimum_forward);
template <class T>
void minimum_forward(T* y, const T* a, const T* b, std::int64_t n) {
  const Span span(SpanKind::kernel, "minimum_forward", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(minimum_forward, T)(y + i, a + i, b + i, end - i); });
}
SIMD_INSTANTIATE(minimum_forward);

SIMD_EXPORT(maximum_forward);
template <class T>
void maximum_forward(T* y, const T* a, const T* b, std::int64_t n) {
  const Span span(SpanKind::kernel, "maximum_forward", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(maximum_forward, T)(y + i, a + i, b + i, end - i); });
}
SIMD_INSTANTIATE(maximum_forward);

SIMD_EXPORT(smaller_backward);
template <class T>
void smaller_backward(T* da, const T* dy, const T* a, const T* b, T beta, std::int64_t n) {
  const Span span(SpanKind::kernel, "smaller_backward", {.bytes = 4.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) {
    SIMD_CALL(smaller_backward, T)(da + i, dy + i, a + i, b + i, beta, end - i);
  });
}
SIMD_INSTANTIATE(smaller_backward);

}  // namespace tapeformer::kernels
#endif
