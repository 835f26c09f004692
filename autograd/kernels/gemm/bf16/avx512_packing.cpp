// Packing by AVX-512.
#include "autograd/kernels/gemm/bf16/bf16_unit_functions.h"

#if defined(__x86_64__)
#include <algorithm>

#include "autograd/kernels/gemm/bf16/avx512_vectors.h"

HWY_PUSH_ATTRIBUTES(TAPEFORMER_AVX512_BF16)

namespace tapeformer::kernels {
namespace {

// What rounding took away, rounded in turn.
inline __m512i rest_of(__m512 low, __m512 high, __m512i rounded) {
  return round(_mm512_sub_ps(low, widen(_mm512_castsi512_si256(rounded))),
               _mm512_sub_ps(high, widen(_mm512_extracti64x4_epi64(rounded, 1))));
}

// Up to 16 vectors over up to 32 elements of k, as 16 × 16 pairs: pairs[vector][pair] where k is contiguous in memory,
// else pairs[pair][vector]. What is not there is 0. kWhole: all 32 elements are there, so that no mask is computed.
template <bool kContiguous, bool kSplit, bool kWhole>
inline void load_pairs(__m512i (&high)[16], __m512i (&low)[16], const float* data, std::int64_t ld, std::int64_t count,
                       std::int64_t depth) {
  const __mmask16 vectors = first_lanes(count);
  const __mmask16 first = kWhole ? 0xFFFF : first_lanes(depth), second = kWhole ? 0xFFFF : first_lanes(depth - 16);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i, data += kContiguous ? ld : 2 * ld) {
    __m512 even, odd;  // the first and the second operand of the rounding
    if constexpr (kContiguous) {
      const bool there = i < count;
      even = _mm512_maskz_loadu_ps(there ? first : 0, data);
      odd = _mm512_maskz_loadu_ps(there ? second : 0, data + 16);
    } else {
      even = _mm512_maskz_loadu_ps(kWhole || 2 * i < depth ? vectors : 0, data);
      odd = _mm512_maskz_loadu_ps(kWhole || 2 * i + 1 < depth ? vectors : 0, data + ld);
    }
    const __m512i rounded = round(even, odd);
    high[i] = kContiguous ? rounded : side_by_side(rounded);
    if constexpr (kSplit) {
      const __m512i rest = rest_of(even, odd, rounded);
      low[i] = kContiguous ? rest : side_by_side(rest);
    }
  }
}
template <bool kContiguous, bool kSplit>
inline void load_pairs(__m512i (&high)[16], __m512i (&low)[16], const float* data, std::int64_t ld, std::int64_t count,
                       std::int64_t depth) {
  if (depth >= 32) {
    load_pairs<kContiguous, kSplit, true>(high, low, data, ld, count, depth);
  } else {
    load_pairs<kContiguous, kSplit, false>(high, low, data, ld, count, depth);
  }
}

// Stores the first `count` rows of a 16 × 16 matrix of pairs, transposed if asked for.
template <bool kTransposed>
inline void store_pairs(Bf16* to, std::int64_t distance, __m512i (&pairs)[16], std::int64_t count) {
  if constexpr (kTransposed) transpose(pairs);
  for (std::int64_t i = 0; i < count; ++i) _mm512_storeu_si512(to + i * distance, pairs[i]);
}

// Rows whose k is contiguous.
template <bool kSplit>
void round_rows(Bf16* high, Bf16* low, std::int64_t row_distance, const float* data, std::int64_t ld,
                std::int64_t count, std::int64_t depth) {
  for (std::int64_t i = 0; i < count; ++i, data += ld, high += row_distance) {
    for (std::int64_t p = 0; p < depth; p += 32) {
      const __m512 first = _mm512_maskz_loadu_ps(first_lanes(depth - p), data + p);
      const __m512 second = _mm512_maskz_loadu_ps(first_lanes(depth - p - 16), data + p + 16);
      const __m512i rounded = round(first, second);
      _mm512_storeu_si512(high + p, rounded);
      if constexpr (kSplit) _mm512_storeu_si512(low + i * row_distance + p, rest_of(first, second, rounded));
    }
  }
}

// Rows whose vectors of k lie in columns of the memory.
template <bool kSplit>
void transpose_rows(Bf16* high, Bf16* low, std::int64_t row_distance, const float* data, std::int64_t ld,
                    std::int64_t count, std::int64_t depth) {
  __m512i high_pairs[16], low_pairs[16];
  for (std::int64_t i = 0; i < count; i += 16) {
    const std::int64_t rows = std::min<std::int64_t>(16, count - i);
    for (std::int64_t p = 0; p < depth; p += 32) {
      load_pairs<false, kSplit>(high_pairs, low_pairs, data + p * ld + i, ld, rows, depth - p);
      store_pairs<true>(high + i * row_distance + p, row_distance, high_pairs, rows);
      if constexpr (kSplit) store_pairs<true>(low + i * row_distance + p, row_distance, low_pairs, rows);
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

}  // namespace

void pack_rows_avx512(Bf16* high, Bf16* low, std::int64_t row_distance, const PackSource& source, std::int64_t count,
                      std::int64_t depth) {
  const auto& [data, ld, contiguous] = source;
  const auto pack =
      contiguous ? (low ? round_rows<true> : round_rows<false>) : (low ? transpose_rows<true> : transpose_rows<false>);
  pack(high, low, row_distance, data, ld, count, depth);
}

void pack_columns_avx512(Bf16* high, Bf16* low, const PackSource& source, std::int64_t count, std::int64_t depth) {
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
#endif
