// Sums over rows, for reduce and layer_norm.
#if defined(TAPEFORMER_REDUCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEFORMER_REDUCE_INL_H
#undef TAPEFORMER_REDUCE_INL_H
#else
#define TAPEFORMER_REDUCE_INL_H
#endif

#include "autograd/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// out (cols) = beta·out + Σ of the rows of x (rows, cols), which begin `stride` elements apart.
template <class T>
void sum_rows(T* out, const T* x, std::int64_t rows, std::int64_t cols, std::int64_t stride, T beta) {
  if (cols == 1 && stride == 1) {
    const hn::ScalableTag<T> d;
    const auto add = [&](std::int64_t i, auto& sums)
                         SIMD_LAMBDA { sums[0] = hn::Add(sums[0], load(d, x + i, rows - i)); };
    const T sum = static_cast<T>(sum_vectors<1>(d, rows, add)[0]);
    *out = beta == T{0} ? sum : beta * *out + sum;
    return;
  }
  if (rows == 0) map(out, beta, cols, [](auto d) SIMD_LAMBDA { return hn::Zero(d); });
  std::int64_t row = 0;
  // Four rows at a time: out is then read and written a quarter as often.
  for (; row + 4 <= rows; row += 4, x += 4 * stride, beta = 1) {
    const auto sum = [](auto, auto a, auto b, auto c, auto e)
                         SIMD_LAMBDA { return hn::Add(hn::Add(a, b), hn::Add(c, e)); };
    map(out, beta, cols, sum, x, x + stride, x + 2 * stride, x + 3 * stride);
  }
  const auto itself = [](auto, auto a) SIMD_LAMBDA { return a; };
  for (; row < rows; ++row, x += stride, beta = 1) map(out, beta, cols, itself, x);
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
