#include "autograd/kernels/elementwise/bf16_numbers.h"

#include <cfloat>

#include "autograd/kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

void round_array(Bf16* to, const float* x, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> whole;
  const hn::Rebind<Bf16, decltype(d)> half;
  for (std::int64_t i = 0; i < n; i += lanes(d)) {
    const auto v = load(d, x + i, n - i);
    const auto bits = hn::BitCast(whole, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(whole, 1));
    auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(whole, 0x7FFF)), odd));
    const auto subnormal = hn::RebindMask(whole, hn::Lt(hn::Abs(v), hn::Set(d, FLT_MIN)));
    rounded = hn::IfThenElse(subnormal, hn::And(rounded, hn::Set(whole, 0x8000)), rounded);
    const auto nan = hn::RebindMask(whole, hn::IsNaN(v));
    rounded = hn::IfThenElse(nan, hn::Or(hn::ShiftRight<16>(bits), hn::Set(whole, 0x40)), rounded);
    // The conversion to 16 bits saturates numbers with a sign: with 16 copies of its upper bit none is cut off.
    const hn::RebindToSigned<decltype(d)> with_sign;
    const hn::RebindToSigned<decltype(half)> half_with_sign;
    const auto extended = hn::ShiftRight<16>(hn::ShiftLeft<16>(hn::BitCast(with_sign, rounded)));
    store(half, hn::BitCast(half, hn::DemoteTo(half_with_sign, extended)), to + i, n - i);
  }
}

void widen_array(float* to, const Bf16* x, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> whole;
  const hn::Rebind<Bf16, decltype(d)> half;
  for (std::int64_t i = 0; i < n; i += lanes(d)) {
    const auto bits = hn::PromoteTo(whole, load(half, x + i, n - i));
    store(d, hn::BitCast(d, hn::ShiftLeft<16>(bits)), to + i, n - i);
  }
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

HWY_EXPORT(round_array);
void round_all_to_bf16(Bf16* to, const float* x, std::int64_t n) { HWY_DYNAMIC_DISPATCH(round_array)(to, x, n); }

HWY_EXPORT(widen_array);
void widen_all(float* to, const Bf16* x, std::int64_t n) { HWY_DYNAMIC_DISPATCH(widen_array)(to, x, n); }

}  // namespace tapeformer::kernels
#endif
