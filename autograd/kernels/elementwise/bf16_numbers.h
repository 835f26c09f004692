// Arrays of bf16 from and to f32, on the calling thread.
#pragma once

#include <cstdint>

#include "autograd/kernels/gemm/bf16/bf16.h"

namespace tapeformer::kernels {

// The numbers of round_to_bf16(x) and widen(x).
void round_all_to_bf16(Bf16* to, const float* x, std::int64_t n);
void widen_all(float* to, const Bf16* x, std::int64_t n);

}  // namespace tapeformer::kernels
