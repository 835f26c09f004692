// Packing by AVX-512, and products by its dot products of bf16.
#include "autograd/kernels/gemm/bf16_unit.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "autograd/kernels/gemm/bf16_packing.h"
#include "hwy/base.h"

// The functions below are compiled for these instructions; avx512_bf16_unit() looks whether the CPU has them.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")

namespace tapeformer::kernels {
namespace {

__mmask16 first_lanes(std::int64_t n) { return static_cast<__mmask16>(n >= 16 ? 0xFFFF : n <= 0 ? 0 : (1U << n) - 1); }

// The bf16 of low's 16 numbers, and then of high's.
inline __m512i round(__m512 low, __m512 high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }
inline __m512 widen(__m256i bf16) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16)); }

// A 16 × 16 matrix of pairs of bf16, transposed.
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

// Up to 16 vectors over up to 32 elements of k, as 16 × 16 pairs: pairs[vector][pair] where k is contiguous in memory,
// else pairs[pair][vector]. What is not there is 0.
template <bool kContiguous, bool kSplit>
inline void load_pairs(__m512i (&high)[16], __m512i (&low)[16], const float* data, std::int64_t ld, std::int64_t count,
                       std::int64_t depth) {
  const __mmask16 vectors = first_lanes(count);
  const __mmask16 first = first_lanes(depth), second = first_lanes(depth - 16);
  const __m512i interleaved = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
                                               6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    __m512 even, odd;  // the first and the second operand of the rounding
    if constexpr (kContiguous) {
      const bool there = i < count;
      even = _mm512_maskz_loadu_ps(there ? first : 0, data + i * ld);
      odd = _mm512_maskz_loadu_ps(there ? second : 0, data + i * ld + 16);
    } else {
      even = _mm512_maskz_loadu_ps(2 * i < depth ? vectors : 0, data + 2 * i * ld);
      odd = _mm512_maskz_loadu_ps(2 * i + 1 < depth ? vectors : 0, data + (2 * i + 1) * ld);
    }
    const __m512i rounded = round(even, odd);
    high[i] = kContiguous ? rounded : _mm512_permutexvar_epi16(interleaved, rounded);
    if constexpr (kSplit) {
      const __m512i rest = round(_mm512_sub_ps(even, widen(_mm512_castsi512_si256(rounded))),
                                 _mm512_sub_ps(odd, widen(_mm512_extracti64x4_epi64(rounded, 1))));
      low[i] = kContiguous ? rest : _mm512_permutexvar_epi16(interleaved, rest);
    }
  }
}

// Stores the first `count` rows of a 16 × 16 matrix of pairs, transposed if asked for.
template <bool kTransposed>
inline void store_pairs(Bf16* to, std::int64_t distance, __m512i (&pairs)[16], std::int64_t count) {
  if constexpr (kTransposed) transpose(pairs);
  for (std::int64_t i = 0; i < count; ++i) _mm512_storeu_si512(to + i * distance, pairs[i]);
}

template <bool kContiguous, bool kSplit>
void pack_rows_as(Bf16* high, Bf16* low, std::int64_t row_distance, const float* data, std::int64_t ld,
                  std::int64_t count, std::int64_t depth) {
  __m512i high_pairs[16], low_pairs[16];
  for (std::int64_t i = 0; i < count; i += 16) {
    const std::int64_t rows = std::min<std::int64_t>(16, count - i);
    for (std::int64_t p = 0; p < depth; p += 32) {
      const float* const from = kContiguous ? data + i * ld + p : data + p * ld + i;
      load_pairs<kContiguous, kSplit>(high_pairs, low_pairs, from, ld, rows, depth - p);
      store_pairs<!kContiguous>(high + i * row_distance + p, row_distance, high_pairs, rows);
      if constexpr (kSplit) store_pairs<!kContiguous>(low + i * row_distance + p, row_distance, low_pairs, rows);
    }
  }
}

template <bool kContiguous, bool kSplit>
void pack_columns_as(Bf16* high, Bf16* low, const float* data, std::int64_t ld, std::int64_t count,
                     std::int64_t depth) {
  __m512i high_pairs[16], low_pairs[16];
  for (std::int64_t j = 0; j < count; j += 16) {
    const std::int64_t columns = std::min<std::int64_t>(16, count - j);
    for (std::int64_t p = 0; p < depth; p += 32) {
      const float* const from = kContiguous ? data + j * ld + p : data + p * ld + j;
      const std::int64_t to = p * kPanelColumns + 2 * j;
      load_pairs<kContiguous, kSplit>(high_pairs, low_pairs, from, ld, columns, depth - p);
      store_pairs<kContiguous>(high + to, 2 * kPanelColumns, high_pairs, 16);
      if constexpr (kSplit) store_pairs<kContiguous>(low + to, 2 * kPanelColumns, low_pairs, 16);
    }
  }
}

constexpr std::int64_t kRows = 14, kDepth = 256, kRowDistance = kDepth + 32;

// 14 rows of sums in 28 of the 32 registers.
template <int kTileRows>
void multiply_rows(float* c, std::int64_t ldc, const Bf16* a, const Bf16* b, std::int64_t columns, std::int64_t depth,
                   float alpha, float beta) {
  __m512 sums[kTileRows][2];
#pragma GCC unroll 14
  for (int i = 0; i < kTileRows; ++i) {
    sums[i][0] = sums[i][1] = _mm512_setzero_ps();
    // What is written at the end comes while the products are computed.
    constexpr int kWrite = 1;
    __builtin_prefetch(c + i * ldc, kWrite);
    __builtin_prefetch(c + i * ldc + columns - 1, kWrite);
  }
  const std::int64_t pairs = (depth + 1) / 2;
  for (std::int64_t p = 0; p < pairs; ++p, a += 2, b += 2 * kPanelColumns) {
    const __m512bh left_columns = (__m512bh)_mm512_loadu_si512(b), right_columns = (__m512bh)_mm512_loadu_si512(b + 32);
#pragma GCC unroll 14
    for (int i = 0; i < kTileRows; ++i) {
      int pair;
      std::memcpy(&pair, a + i * kRowDistance, sizeof(pair));
      const __m512bh row = (__m512bh)_mm512_set1_epi32(pair);
      sums[i][0] = _mm512_dpbf16_ps(sums[i][0], row, left_columns);
      sums[i][1] = _mm512_dpbf16_ps(sums[i][1], row, right_columns);
    }
  }
  const __m512 scale = _mm512_set1_ps(alpha), keep = _mm512_set1_ps(beta);
#pragma GCC unroll 14
  for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __mmask16 there = first_lanes(columns - 16 * half);
      float* const to = c + i * ldc + 16 * half;
      __m512 out = _mm512_mul_ps(sums[i][half], scale);
      if (beta != 0) out = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(there, to), keep, out);
      _mm512_mask_storeu_ps(to, there, out);
    }
  }
}

template <int... kLess>
void multiply_any(std::integer_sequence<int, kLess...>, std::int64_t rows, float* c, std::int64_t ldc, const Bf16* a,
                  const Bf16* b, std::int64_t columns, std::int64_t depth, float alpha, float beta) {
  static constexpr decltype(&multiply_rows<1>) kByRows[] = {&multiply_rows<kLess + 1>...};
  kByRows[rows - 1](c, ldc, a, b, columns, depth, alpha, beta);
}

void multiply(float* c, std::int64_t ldc, const Bf16* row_panel, const Bf16* column_panel, std::int64_t rows,
              std::int64_t columns, std::int64_t depth, float alpha, float beta) {
  multiply_any(std::make_integer_sequence<int, kRows>(), rows, c, ldc, row_panel, column_panel, columns, depth, alpha,
               beta);
}

}  // namespace

void pack_rows_avx512(Bf16* high, Bf16* low, std::int64_t row_distance, PackSource source, std::int64_t count,
                      std::int64_t depth) {
  const auto& [data, ld, contiguous] = source;
  const auto pack = contiguous ? (low ? pack_rows_as<true, true> : pack_rows_as<true, false>)
                               : (low ? pack_rows_as<false, true> : pack_rows_as<false, false>);
  pack(high, low, row_distance, data, ld, count, depth);
}

void pack_columns_avx512(Bf16* high, Bf16* low, PackSource source, std::int64_t count, std::int64_t depth) {
  const auto& [data, ld, contiguous] = source;
  const auto pack = contiguous ? (low ? pack_columns_as<true, true> : pack_columns_as<true, false>)
                               : (low ? pack_columns_as<false, true> : pack_columns_as<false, false>);
  pack(high, low, data, ld, count, depth);
}

void pack_rounded_columns_avx512(Bf16* to, const Bf16* columns, std::int64_t ld, std::int64_t count,
                                 std::int64_t depth) {
  __m512i pairs[16];
  for (std::int64_t j = 0; j < count; j += 16) {
    for (std::int64_t p = 0; p < depth; p += 32) {
      const std::int64_t left = depth - p;
      const __mmask32 there = left >= 32 ? 0xFFFFFFFFU : (1U << left) - 1;
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        pairs[i] = _mm512_maskz_loadu_epi16(j + i < count ? there : 0, columns + (j + i) * ld + p);
      }
      store_pairs<true>(to + p * kPanelColumns + 2 * j, 2 * kPanelColumns, pairs, 16);
    }
  }
}

}  // namespace tapeformer::kernels

HWY_POP_ATTRIBUTES

namespace tapeformer::kernels {

bool has_avx512_bf16() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const Bf16Unit* avx512_bf16_unit() {
  static const Bf16Unit unit{.name = "AVX512_BF16",
                             .rows = kRows,
                             .depth = kDepth,
                             .row_distance = kRowDistance,
                             .pack_rows = pack_rows_avx512,
                             .pack_columns = pack_columns_avx512,
                             .pack_rounded_columns = pack_rounded_columns_avx512,
                             .multiply = multiply};
  static const bool present = has_avx512_bf16();
  return present ? &unit : nullptr;
}

}  // namespace tapeformer::kernels

#else

namespace tapeformer::kernels {
const Bf16Unit* avx512_bf16_unit() { return nullptr; }
}  // namespace tapeformer::kernels

#endif
