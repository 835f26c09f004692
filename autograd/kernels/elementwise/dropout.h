// Inverted dropout with counter-based random bits. Nothing is kept for backward, which draws the same bits again.
#pragma once

#include <cstdint>

#include "core/random.h"

namespace tapeformer::kernels {

// Whether element i of a sequence is kept: word i of the key's sequence (block i/4, word i%4) >= p·2³².
// The threshold is dropout_threshold(p); p in [0, 1).
constexpr std::uint32_t dropout_threshold(double p) { return static_cast<std::uint32_t>(p * 0x1p32); }

// out_i = beta·out_i + x_i·[kept(i)]/(1 − p). Forward with beta 0; backward with dy as x.
template <class T>
void dropout(T* out, const T* x, double p, const RandomKey& key, T beta, std::int64_t n);

}  // namespace tapeformer::kernels
