// Loops over vectors, for each of Highway's targets. A tail shorter than a vector goes through the same code as the
// rest, so that an element's result never depends on its place in an array.
#if defined(TAPEFORMER_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORMER_SIMD_INL_H
#undef TAPEFORMER_SIMD_INL_H
#else
#define TAPEFORMER_SIMD_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstdint>

#include "autograd/kernels/simd/simd.h"
#ifndef HIGHWAY_HWY_FOREACH_TARGET_H_
#error "a file of kernels belongs to a unit: tapeformer_simd_unit() in autograd/kernels/CMakeLists.txt"
#endif
#include "hwy/highway.h"

// For lambdas that take or return vectors: Highway's target attributes do not reach them by themselves, and a call that
// is not inlined would pass its vectors through memory.
#ifndef SIMD_LAMBDA
#define SIMD_LAMBDA HWY_ATTR __attribute__((always_inline))
#endif

// For loops over the sums of a tile: unrolled, the sums are registers.
#ifndef SIMD_UNROLL
#if defined(__clang__)
#define SIMD_UNROLL _Pragma("unroll")
#else
#define SIMD_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

#undef SIMD_FLOATS
#if HWY_TARGET == HWY_STATIC_TARGET
#define SIMD_FLOATS(name)                          \
  static constexpr auto& name##_f32 = name<float>; \
  static constexpr auto& name##_f64 = name<double>
#else
#define SIMD_FLOATS(name) static constexpr auto& name##_f32 = name<float>
#endif

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
std::int64_t lanes(D d) {
  return static_cast<std::int64_t>(hn::Lanes(d));
}

// The vector at `from`, where `left` > 0 elements are left in the array; lanes past the end are `fill`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load(D d, const T* from, std::int64_t left, hn::TFromD<D> fill = 0) {
  if (HWY_LIKELY(left >= lanes(d))) return hn::LoadU(d, from);
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T buffer[hn::MaxLanes(d)];
  std::fill(std::copy(from, from + left, buffer), buffer + lanes(d), fill);
  return hn::Load(d, buffer);
#else
  const auto mask = hn::FirstN(d, left);
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), hn::Set(d, fill));
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(D d, hn::Vec<D> v, T* to, std::int64_t left) {
  if (HWY_LIKELY(left >= lanes(d))) return hn::StoreU(v, d, to);
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T buffer[hn::MaxLanes(d)];
  hn::Store(v, d, buffer);
  std::copy(buffer, buffer + left, to);
#else
  hn::BlendedStore(v, hn::FirstN(d, left), d, to);
#endif
}

// out_i = beta·out_i + f(d, in_i…) for n elements. With beta 0 out is not read.
template <class T, class F, class... In>
HWY_INLINE void map(T* out, T beta, std::int64_t n, const F& f, const In*... in) {
  const hn::ScalableTag<T> d;
  for (std::int64_t i = 0; i < n; i += lanes(d)) {
    auto y = f(d, load(hn::Rebind<In, decltype(d)>(), in + i, n - i)...);
    if (beta != T{0}) y = hn::MulAdd(hn::Set(d, beta), load(d, out + i, n - i), y);
    store(d, y, out + i, n - i);
  }
}

// K sums over n elements: f(i, sums) adds the vectors at i to sums[0 … K). Four neighbouring vectors go to four
// sums, so that no addition waits for the one before it. The sums and their lanes are added up once per block, so that
// rounding errors grow with the length of a block and not with n.
template <int K, class D, class F>
HWY_INLINE std::array<double, K> sum_vectors(D d, std::int64_t n, const F& f) {
  const std::int64_t step = lanes(d), block = 64 * step;
  std::array<double, K> totals{};
  for (std::int64_t begin = 0; begin < n; begin += block) {
    hn::Vec<D> a[K], b[K], c[K], e[K];
    for (int k = 0; k < K; ++k) a[k] = b[k] = c[k] = e[k] = hn::Zero(d);
    const std::int64_t end = std::min(n, begin + block);
    std::int64_t i = begin;
    for (; end - i >= 4 * step; i += 4 * step) {
      f(i, a);
      f(i + step, b);
      f(i + 2 * step, c);
      f(i + 3 * step, e);
    }
    for (; i < end; i += step) f(i, a);
    for (int k = 0; k < K; ++k) {
      totals[k] += hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a[k], b[k]), hn::Add(c[k], e[k]))));
    }
  }
  return totals;
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
