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

}  // namespace tapeformer::kernels
