// Numbers of 16 bits.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

namespace tapeformer::kernels {

// The bits of a bf16 (brain floating point): the upper half of a float.
using Bf16 = std::uint16_t;

// To nearest, ties to even, as the instructions round. Subnormal numbers become zero, as the instructions take them.
inline Bf16 round_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return static_cast<Bf16>(bits >> 16 | 0x40);
  if (std::abs(x) < FLT_MIN) return static_cast<Bf16>(bits >> 31 << 15);
  return static_cast<Bf16>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
inline float widen(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }

// The bits of an IEEE half-precision number, which files of weights have.
using F16 = std::uint16_t;

// Exact, subnormal numbers too.
inline float widen_f16(F16 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x & 0x8000) << 16, rest = x & 0x7FFF;
  if (rest >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | (rest & 0x3FF) << 13);  // infinite, or NaN
  // The exponent is biased by 15, that of a float by 127: 2^112 makes up for it.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112f));
}

// To nearest, ties to even; what is beyond the range becomes infinite.
inline F16 round_to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<F16>(bits >> 16 & 0x8000);
  if (std::isnan(x)) return static_cast<F16>(sign | 0x7E00);
  const float size = std::abs(x);
  if (size < 0x1p-14f) return static_cast<F16>(sign | static_cast<F16>(std::nearbyint(size * 0x1p24f)));  // subnormal
  // The exponent is biased by 127, and by 15 in the result. Rounding may carry into it.
  const std::uint32_t rest = (bits & 0x7FFFFFFF) - (112u << 23), rounded = (rest + 0xFFF + (rest >> 13 & 1)) >> 13;
  return static_cast<F16>(sign | (rounded < 0x7C00 ? rounded : 0x7C00));
}

}  // namespace tapeformer::kernels
