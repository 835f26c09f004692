#include "autograd/kernels/elementwise/softcap.h"

#include "autograd/kernels/simd/simd-inl.h"
#include "autograd/kernels/simd/vector_math-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

template <class T>
void softcap_forward(T* y, const T* x, T cap, std::int64_t n) {
  const auto capped = [=](auto d, auto x)
                          SIMD_LAMBDA { return hn::Mul(hn::Set(d, cap), tanh(d, hn::Mul(x, hn::Set(d, 1 / cap)))); };
  map(y, T{0}, n, capped, x);
}
// 1 − (y/cap)² = (cap − y)(cap + y)/cap² has no cancellation.
template <class T>
void softcap_backward(T* dx, const T* dy, const T* y, T cap, T beta, std::int64_t n) {
  const T scale = static_cast<T>(1 / (double{cap} * cap));
  const auto gradient = [=](auto d, auto dy, auto y) SIMD_LAMBDA {
    const auto limit = hn::Set(d, cap);
    return hn::Mul(dy, hn::Mul(hn::Mul(hn::Sub(limit, y), hn::Add(limit, y)), hn::Set(d, scale)));
  };
  map(dx, beta, n, gradient, dy, y);
}

SIMD_FLOATS(softcap_forward);
SIMD_FLOATS(softcap_backward);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(softcap_forward);
template <class T>
void softcap_forward(T* y, const T* x, T cap, std::int64_t n) {
  const Span span(SpanKind::kernel, "softcap_forward", {.bytes = 2.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(softcap_forward, T)(y + i, x + i, cap, end - i); });
}
SIMD_INSTANTIATE(softcap_forward);

SIMD_EXPORT(softcap_backward);
template <class T>
void softcap_backward(T* dx, const T* dy, const T* y, T cap, T beta, std::int64_t n) {
  const Span span(SpanKind::kernel, "softcap_backward", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) {
    SIMD_CALL(softcap_backward, T)(dx + i, dy + i, y + i, cap, beta, end - i);
  });
}
SIMD_INSTANTIATE(softcap_backward);

}  // namespace tapeformer::kernels
#endif
