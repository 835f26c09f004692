// What softmax and cross-entropy share: a row's maximum and the sum of its exponentials.
#if defined(TAPEFORMER_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORMER_SOFTMAX_INL_H
#undef TAPEFORMER_SOFTMAX_INL_H
#else
#define TAPEFORMER_SOFTMAX_INL_H
#endif

#include <limits>

#include "autograd/kernels/simd/simd-inl.h"
#include "autograd/kernels/simd/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// The number to subtract from a row before e^: its largest element, or 0 if that is −∞, so that e^ of −∞ is still 0.
// The maximum may ignore a NaN in the row; the sum does not.
template <class T>
HWY_INLINE T shift_of_row(const T* x, std::int64_t cols) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const hn::ScalableTag<T> d;
  auto max = hn::Set(d, -kInfinity);
  for (std::int64_t j = 0; j < cols; j += lanes(d)) max = hn::Max(max, load(d, x + j, cols - j, -kInfinity));
  const T largest = hn::GetLane(hn::MaxOfLanes(d, max));
  return largest == -kInfinity ? T{0} : largest;
}

// Σ e^(x − shift); f(j, e) is called with the vector at j.
template <class T, class F>
HWY_INLINE double sum_of_exp(const T* x, T shift, std::int64_t cols, const F& f) {
  const hn::ScalableTag<T> d;
  const auto add = [&](std::int64_t j, auto& sums) SIMD_LAMBDA {
    const auto in_row = load(d, x + j, cols - j, -std::numeric_limits<T>::infinity());
    const auto e = exp(d, hn::Sub(in_row, hn::Set(d, shift)));
    f(j, e);
    sums[0] = hn::Add(sums[0], e);
  };
  return sum_vectors<1>(d, cols, add)[0];
}
template <class T>
HWY_INLINE double sum_of_exp(const T* x, T shift, std::int64_t cols) {
  return sum_of_exp(x, shift, cols, [](std::int64_t, auto) SIMD_LAMBDA {});
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
