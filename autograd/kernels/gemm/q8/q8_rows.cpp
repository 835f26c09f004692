#include <bit>
#include <cmath>

#include "autograd/kernels/gemm/q8/q8_functions.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/error.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
void q8_row(float* c, const Q8Left& a, const Q8Rows& b, std::int64_t n, std::int64_t k) {
  for (std::int64_t j = 0; j < n; ++j) {
    const Q8Rows row = b.from(j * k);
    c[j] = 0;
    for (std::int64_t block = 0; block < k / kQ8Block; ++block) {
      int dot = 0;
      for (std::int64_t i = block * kQ8Block; i < (block + 1) * kQ8Block; ++i) dot += a.values[i] * row.values[i];
      c[j] += a.scales[block] * widen_f16(row.scales[block]) * static_cast<float>(dot);
    }
  }
}
#else
void q8_row(float* c, const Q8Left& a, const Q8Rows& b, std::int64_t n, std::int64_t k) {
  const hn::CappedTag<float, 8> d;
  const hn::RebindToSigned<decltype(d)> d32;
  const hn::Repartition<std::int16_t, decltype(d)> d16;
  const hn::Rebind<std::int8_t, decltype(d16)> d8;
  for (std::int64_t j = 0; j < n; ++j) {
    const Q8Rows row = b.from(j * k);
    auto sum = hn::Zero(d);
    for (std::int64_t block = 0; block < k / kQ8Block; ++block) {
      const std::int64_t first = block * kQ8Block;
      auto dots = hn::Zero(d32), odd_dots = hn::Zero(d32);
      for (std::int64_t i = first; i < first + kQ8Block; i += lanes(d16)) {
        const auto left = hn::PromoteTo(d16, hn::LoadU(d8, a.values + i));
        const auto right = hn::PromoteTo(d16, hn::LoadU(d8, row.values + i));
        dots = hn::ReorderWidenMulAccumulate(d32, left, right, dots, odd_dots);
      }
      const float scale = a.scales[block] * widen_f16(row.scales[block]);
      sum = hn::MulAdd(hn::ConvertTo(d, hn::Add(dots, odd_dots)), hn::Set(d, scale), sum);
    }
    c[j] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}
#endif

void q8_left(const Q8Left& to, const float* x, std::int64_t n) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> d32;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  for (std::int64_t block = 0; block < n / kQ8Block; ++block) {
    const float* const from = x + block * kQ8Block;
    // The largest number by its bits: those of a NaN are larger than those of any number, so that it becomes the scale.
    auto largest = hn::Zero(d32);
    for (std::int64_t i = 0; i < kQ8Block; i += lanes(d)) {
      largest = hn::Max(largest, hn::BitCast(d32, hn::Abs(hn::LoadU(d, from + i))));
    }
    const float most = std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(d32, largest)));
    const float inverse = most > 0 ? 127 / most : 0;
    to.scales[block] = most / 127;
    for (std::int64_t i = 0; i < kQ8Block; i += lanes(d)) {
      const auto rounded = hn::NearestInt(hn::Mul(hn::LoadU(d, from + i), hn::Set(d, inverse)));
      hn::StoreU(hn::DemoteTo(d8, rounded), d8, to.values + block * kQ8Block + i);
    }
  }
}

void q8_numbers(float* to, const Q8Rows& x, std::int64_t n) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> d32;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  for (std::int64_t block = 0; block < n / kQ8Block; ++block) {
    const auto scale = hn::Set(d, widen_f16(x.scales[block]));
    for (std::int64_t i = block * kQ8Block; i < (block + 1) * kQ8Block; i += lanes(d)) {
      const auto whole = hn::PromoteTo(d32, hn::LoadU(d8, x.values + i));
      hn::StoreU(hn::Mul(hn::ConvertTo(d, whole), scale), d, to + i);
    }
  }
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

HWY_EXPORT(q8_row);
void multiply_q8_row(float* c, const Q8Left& a, const Q8Rows& b, std::int64_t n, std::int64_t k) {
  HWY_DYNAMIC_DISPATCH(q8_row)(c, a, b, n, k);
}

HWY_EXPORT(q8_left);
void quantize_left(const Q8Left& to, const float* x, std::int64_t n) { HWY_DYNAMIC_DISPATCH(q8_left)(to, x, n); }

HWY_EXPORT(q8_numbers);
void dequantize_q8(float* to, const Q8Rows& x, std::int64_t n) { HWY_DYNAMIC_DISPATCH(q8_numbers)(to, x, n); }

}  // namespace tapeformer::kernels
#endif
