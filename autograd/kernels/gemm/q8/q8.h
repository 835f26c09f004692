// Matrices of q8_0, the format of GGUF files of that name: a block of 32 numbers of a row is 32 whole numbers of 8 bits
// and a scale in half precision, 8.5 bits a number.
#pragma once

#include <cstdint>

#include "autograd/kernels/gemm/bf16/bf16.h"

namespace tapeformer::kernels {

inline constexpr std::int64_t kQ8Block = 32;

// Rows of whole blocks: element i is values[i]·scales[i / kQ8Block]. Values are from −127 to 127.
struct Q8Rows {
  std::int8_t* values;
  F16* scales;

  // The rows from the one on that begins at element `first`, which begins a block.
  Q8Rows from(std::int64_t first) const { return {values + first, scales + first / kQ8Block}; }
};

// Writes n numbers, a multiple of kQ8Block, rounded to nearest: the largest of a block is 127 times its scale. Throws
// Error for a number that is not finite or beyond the range of the format.
void quantize_q8(const Q8Rows& to, const float* x, std::int64_t n);
// Reads n numbers, a multiple of kQ8Block. As bf16 they are rounded once more.
void dequantize_q8(float* to, const Q8Rows& x, std::int64_t n);
void dequantize_q8(Bf16* to, const Q8Rows& x, std::int64_t n);

// c (m, n), rows ldc apart = a (m, k), rows lda apart, times the transpose of b (n, k); k is a multiple of kQ8Block.
//
// q8_skinny_gemm rounds each block of a to whole numbers of 8 bits as well, with a scale in f32, so that products of
// blocks are exact sums of whole numbers. It is for few rows of a: the time goes into reading b once. Each element of c
// adds up in an order that depends on k alone: the same bits for any m and n and any number of threads. A row of a that
// has an infinite number or a NaN gives sums that are not finite.
void q8_skinny_gemm(float* c, std::int64_t ldc, const float* a, std::int64_t lda, const Q8Rows& b, std::int64_t m,
                    std::int64_t n, std::int64_t k);
// q8_gemm multiplies more than kFewRows rows in the precision in force (MatmulPrecisionScope), some columns of b at a
// time, and fewer rows by q8_skinny_gemm; under BatchInvariant any number of rows by that.
void q8_gemm(float* c, std::int64_t ldc, const float* a, std::int64_t lda, const Q8Rows& b, std::int64_t m,
             std::int64_t n, std::int64_t k);

// Whether this CPU multiplies whole numbers of 8 bits by AVX512_VNNI, and whether it is used, as here and by
// int8_gemm. For tests: force_portable_int8(true) leaves it unused, for all threads.
bool has_avx512_vnni();
bool uses_avx512_vnni();
void force_portable_int8(bool on);

}  // namespace tapeformer::kernels
