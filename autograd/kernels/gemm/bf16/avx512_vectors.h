// Vectors of AVX-512 with products of bf16. Functions that use them are compiled for these instructions alone, between
// HWY_PUSH_ATTRIBUTES(TAPEFORMER_AVX512_BF16) and HWY_POP_ATTRIBUTES; avx512_bf16_unit() looks whether the CPU has
// them.
#pragma once

// g++ 12 takes _mm512_undefined_ps(), by which its header names a value that does not matter, for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstdint>
#include <cstring>

#include "autograd/kernels/gemm/bf16/bf16.h"
#include "hwy/base.h"

#define TAPEFORMER_AVX512_BF16 "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"
#define TAPEFORMER_AVX512_VNNI TAPEFORMER_AVX512_BF16 ",avx512vnni"

HWY_PUSH_ATTRIBUTES(TAPEFORMER_AVX512_BF16)

namespace tapeformer::kernels {

// The first n of 16 lanes, none or all of them where n is outside of 0 to 16.
inline __mmask16 first_lanes(std::int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xFFFF : n <= 0 ? 0 : (1U << n) - 1);
}

// The bf16 of low's 16 numbers, and then of high's.
inline __m512i round(__m512 low, __m512 high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }
// Interleaves them: pair i is (low[i], high[i]).
inline __m512i side_by_side(__m512i rounded) {
  const __m512i places = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                          21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(places, rounded);
}
// 16 times the pair from[0], from[1].
inline __m512bh repeated_pair(const Bf16* from) {
  int pair;
  std::memcpy(&pair, from, sizeof(pair));
  return (__m512bh)_mm512_set1_epi32(pair);
}
// to = beta·to + alpha·sums, where `there` says.
inline void store_sums(float* to, __m512 sums, __mmask16 there, float alpha, float beta) {
  __m512 out = _mm512_mul_ps(sums, _mm512_set1_ps(alpha));
  if (beta != 0) out = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(there, to), _mm512_set1_ps(beta), out);
  _mm512_mask_storeu_ps(to, there, out);
}
// Each quarter of the result has the sums a0 + a2, b0 + b2, a1 + a3, b1 + b3 of the elements of a and b.
inline __m512 sums_of_pairs(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

// Element i = the sum of all lanes of v[i], for four of them.
inline __m128 sums_of_lanes(const __m512* v) {
  const __m512d pairs01 = _mm512_castps_pd(sums_of_pairs(v[0], v[1])),
                pairs23 = _mm512_castps_pd(sums_of_pairs(v[2], v[3]));
  const __m512 quarters = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(pairs01, pairs23)),
                                        _mm512_castpd_ps(_mm512_unpackhi_pd(pairs01, pairs23)));
  const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(quarters), _mm512_extractf32x8_ps(quarters, 1));
  return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}

// A 16 × 16 matrix of numbers of 32 bits, transposed.
inline void transpose(__m512i (&x)[16]) {
  __m512i y[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  // x[4b + c] holds, in each quarter q, column 4q + c of the rows 4b to 4b + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i low01 = _mm512_shuffle_i32x4(x[c], x[4 + c], 0x88),
                  high01 = _mm512_shuffle_i32x4(x[c], x[4 + c], 0xDD);
    const __m512i low23 = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0x88),
                  high23 = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0xDD);
    y[c] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    y[8 + c] = _mm512_shuffle_i32x4(low01, low23, 0xDD);
    y[4 + c] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    y[12 + c] = _mm512_shuffle_i32x4(high01, high23, 0xDD);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = y[i];
}

// 16 bf16 as f32.
inline __m512 widen(__m256i bf16) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16)); }

}  // namespace tapeformer::kernels

HWY_POP_ATTRIBUTES
