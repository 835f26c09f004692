// Packing by AVX-512, and products by its dot products of bf16.
#include "autograd/kernels/gemm/bf16_unit.h"

#if defined(__x86_64__)
// g++ 12 takes _mm512_undefined_ps(), by which its header names a value that does not matter, for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

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
// The same as 16 pairs, each of a number of low and the one of high at its place.
inline __m512i side_by_side(__m512i rounded) {
  const __m512i places = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                          21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(places, rounded);
}
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
    high[i] = kContiguous ? rounded : side_by_side(rounded);
    if constexpr (kSplit) {
      const __m512i rest = round(_mm512_sub_ps(even, widen(_mm512_castsi512_si256(rounded))),
                                 _mm512_sub_ps(odd, widen(_mm512_extracti64x4_epi64(rounded, 1))));
      low[i] = kContiguous ? rest : side_by_side(rest);
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
  for (std::int64_t p = 0; p < depth; p += 32) {
    for (std::int64_t j = 0; j < count; j += 16) {
      const std::int64_t columns = std::min<std::int64_t>(16, count - j);
      const float* const from = kContiguous ? data + j * ld + p : data + p * ld + j;
      const std::int64_t to = p * kPanelColumns + 2 * j;
      load_pairs<kContiguous, kSplit>(high_pairs, low_pairs, from, ld, columns, depth - p);
      store_pairs<kContiguous>(high + to, 2 * kPanelColumns, high_pairs, 16);
      if constexpr (kSplit) store_pairs<kContiguous>(low + to, 2 * kPanelColumns, low_pairs, 16);
    }
  }
}

constexpr std::int64_t kRows = 14, kDepth = 512, kRowDistance = kDepth + 32;

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
      const __m512bh row = repeated_pair(a + i * kRowDistance);
      sums[i][0] = _mm512_dpbf16_ps(sums[i][0], row, left_columns);
      sums[i][1] = _mm512_dpbf16_ps(sums[i][1], row, right_columns);
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __mmask16 there = columns == kPanelColumns ? 0xFFFF : first_lanes(columns - 16 * half);
      store_sums(c + i * ldc + 16 * half, sums[i][half], there, alpha, beta);
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

// In each quarter: the sums a0 + a2, b0 + b2, a1 + a3, b1 + b3 of the elements of a and b.
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

// 32 elements of a row, of which `left` are there; those of f32 are rounded.
inline __m512bh load_row(const Bf16* from, std::int64_t left) {
  if (left >= 32) return (__m512bh)_mm512_loadu_si512(from);
  return (__m512bh)_mm512_maskz_loadu_epi16((1U << left) - 1, from);
}
inline __m512bh load_row(const float* from, std::int64_t left) {
  if (left >= 32) return (__m512bh)round(_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16));
  return (__m512bh)round(_mm512_maskz_loadu_ps(first_lanes(left), from),
                         _mm512_maskz_loadu_ps(first_lanes(left - 16), from + 16));
}

// multiply_few_rows for kLeft rows of a and kRight rows of b.
template <int kLeft, int kRight, class B>
inline void dot_products(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const B* b, std::int64_t ldb,
                         std::int64_t k, float alpha, float beta) {
  constexpr int kSums = (kLeft * kRight + 3) / 4 * 4;
  __m512 sums[kSums];
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_setzero_ps();
  for (std::int64_t p = 0; p < k; p += 32) {
    __m512bh right[kRight];
#pragma GCC unroll 8
    for (int j = 0; j < kRight; ++j) right[j] = load_row(b + j * ldb + p, k - p);
#pragma GCC unroll 8
    for (int i = 0; i < kLeft; ++i) {
      const __m512bh row = (__m512bh)_mm512_loadu_si512(a + i * lda + p);
#pragma GCC unroll 8
      for (int j = 0; j < kRight; ++j) {
        sums[i * kRight + j] = _mm512_dpbf16_ps(sums[i * kRight + j], row, right[j]);
      }
    }
  }
  float dots[kSums];
#pragma GCC unroll 8
  for (int i = 0; i < kSums; i += 4) _mm_storeu_ps(dots + i, sums_of_lanes(sums + i));
  for (int i = 0; i < kLeft; ++i) {
    for (int j = 0; j < kRight; ++j) {
      float& to = c[i * ldc + j];
      to = beta == 0 ? alpha * dots[i * kRight + j] : beta * to + alpha * dots[i * kRight + j];
    }
  }
}

// multiply_few_rows for kLeft rows of a.
template <int kLeft, class B>
void times_rows(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const B* b, std::int64_t ldb,
                std::int64_t n, std::int64_t k, float alpha, float beta) {
  constexpr int kRight = kLeft <= 2 ? 8 : kLeft <= 6 ? 4 : 2;  // all sums stay in registers
  std::int64_t j = 0;
  for (; j + kRight <= n; j += kRight)
    dot_products<kLeft, kRight>(c + j, ldc, a, lda, b + j * ldb, ldb, k, alpha, beta);
  for (; j < n; ++j) dot_products<kLeft, 1>(c + j, ldc, a, lda, b + j * ldb, ldb, k, alpha, beta);
}

template <class B>
void times_few(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const B* b, std::int64_t ldb,
               std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta) {
  static constexpr decltype(&times_rows<1, B>) kByRows[] = {times_rows<1, B>, times_rows<2, B>, times_rows<3, B>,
                                                            times_rows<4, B>, times_rows<5, B>, times_rows<6, B>,
                                                            times_rows<7, B>, times_rows<8, B>};
  for (std::int64_t i = 0; i < m; i += kFewRows) {
    kByRows[std::min(kFewRows, m - i) - 1](c + i * ldc, ldc, a + i * lda, lda, b, ldb, n, k, alpha, beta);
  }
}

// c (kLeft, n) = beta·c + alpha·a (kLeft, k)·b (k, n), rounded on the way.
template <int kLeft>
void sums_of_rows(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const float* b, std::int64_t ldb,
                  std::int64_t n, std::int64_t k, float alpha, float beta) {
  constexpr int kVectors = kLeft <= 4 ? 4 : 2;  // all sums stay in registers
  for (std::int64_t j = 0; j < n; j += 16 * kVectors) {
    __m512 sums[kLeft][kVectors];
    __mmask16 there[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      there[v] = first_lanes(n - j - 16 * v);
#pragma GCC unroll 8
      for (int i = 0; i < kLeft; ++i) sums[i][v] = _mm512_setzero_ps();
    }
    for (std::int64_t p = 0; p < k; p += 2) {
      const float* const row = b + p * ldb + j;
      const bool two = p + 1 < k;
      __m512bh pairs[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        pairs[v] = (__m512bh)side_by_side(round(_mm512_maskz_loadu_ps(there[v], row + 16 * v),
                                                _mm512_maskz_loadu_ps(two ? there[v] : 0, row + ldb + 16 * v)));
      }
#pragma GCC unroll 8
      for (int i = 0; i < kLeft; ++i) {
        const __m512bh left = repeated_pair(a + i * lda + p);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[i][v] = _mm512_dpbf16_ps(sums[i][v], left, pairs[v]);
      }
    }
    for (int i = 0; i < kLeft; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store_sums(c + i * ldc + j + 16 * v, sums[i][v], there[v], alpha, beta);
    }
  }
}

}  // namespace

void multiply_few_rows_avx512(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const Bf16* b,
                              std::int64_t ldb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                              float beta) {
  times_few(c, ldc, a, lda, b, ldb, m, n, k, alpha, beta);
}

void round_and_multiply_few_rows_avx512(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, PackSource b,
                                        std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta) {
  if (b.k_contiguous) return times_few(c, ldc, a, lda, b.data, b.ld, m, n, k, alpha, beta);
  static constexpr decltype(&sums_of_rows<1>) kByRows[] = {sums_of_rows<1>, sums_of_rows<2>, sums_of_rows<3>,
                                                           sums_of_rows<4>, sums_of_rows<5>, sums_of_rows<6>,
                                                           sums_of_rows<7>, sums_of_rows<8>};
  for (std::int64_t i = 0; i < m; i += kFewRows) {
    kByRows[std::min(kFewRows, m - i) - 1](c + i * ldc, ldc, a + i * lda, lda, b.data, b.ld, n, k, alpha, beta);
  }
}

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
                             .multiply = multiply,
                             .multiply_few_rows = multiply_few_rows_avx512,
                             .round_and_multiply_few_rows = round_and_multiply_few_rows_avx512};
  static const bool present = has_avx512_bf16();
  return present ? &unit : nullptr;
}

}  // namespace tapeformer::kernels

#else

namespace tapeformer::kernels {
const Bf16Unit* avx512_bf16_unit() { return nullptr; }
}  // namespace tapeformer::kernels

#endif
