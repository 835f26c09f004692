// Matrix products of float operands that are rounded to whole numbers of 8 bits while they are packed.
#pragma once

#include <cstdint>

#include "autograd/kernels/gemm/gemm.h"

namespace tapeformer::kernels {

// Longer sums of products of 8 bits might not fit in 32 bits.
inline constexpr std::int64_t kInt8LongestSum = 1 << 16;

// c (m, n), rows ldc apart = beta·c + a (m, k)·b (k, n), rows of a lda apart, k at most kInt8LongestSum. With beta 0, c
// is not read. Each row of a and each column of b is rounded to whole numbers from −127 to 127 times a scale of its
// own, which is the largest of its numbers / 127 (Dettmers et al. 2022, "LLM.int8()", vector-wise quantization). Their
// products add up exactly: the same bits on every CPU, for any m, n and number of threads. A row or column that has an
// infinite number or a NaN gives sums that are not finite.
void int8_gemm(float* c, std::int64_t ldc, const float* a, std::int64_t lda, MatrixView<float> b, std::int64_t m,
               std::int64_t n, std::int64_t k, float beta);

}  // namespace tapeformer::kernels
