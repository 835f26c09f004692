// Products of whole numbers of 8 bits by AVX512_VNNI.
#include "autograd/kernels/gemm/int8/int8_unit.h"

#if defined(__x86_64__)
#include <utility>

#include "autograd/kernels/gemm/bf16/avx512_vectors.h"
#include "autograd/kernels/gemm/q8/q8.h"

HWY_PUSH_ATTRIBUTES(TAPEFORMER_AVX512_VNNI)

namespace tapeformer::kernels {
namespace {

inline __m512i without_signs(__m512 x) {
  return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7FFFFFFF));
}
// 16 numbers as whole ones. Those of what is not finite have zeros in their lowest 8 bits.
inline __m512i rounded(__m512 x, __m512 inverse) { return _mm512_cvtps_epi32(_mm512_mul_ps(x, inverse)); }

// The largest of k numbers without their signs, as bits.
inline std::uint32_t largest_of_row(const float* x, std::int64_t k) {
  __m512i even = _mm512_setzero_si512(), odd = even;
  std::int64_t p = 0;
  for (; p + 32 <= k; p += 32) {
    even = _mm512_max_epu32(even, without_signs(_mm512_loadu_ps(x + p)));
    odd = _mm512_max_epu32(odd, without_signs(_mm512_loadu_ps(x + p + 16)));
  }
  for (; p < k; p += 16) even = _mm512_max_epu32(even, without_signs(_mm512_maskz_loadu_ps(first_lanes(k - p), x + p)));
  return _mm512_reduce_max_epu32(_mm512_max_epu32(even, odd));
}

void pack_rows_vnni(const Int8RowPanel& to, const float* x, std::int64_t ld, std::int64_t count, std::int64_t k) {
  const __m512i shift = _mm512_set1_epi32(128);
  for (std::int64_t i = 0; i < count; ++i, x += ld) {
    const auto [scale, inverse] = Int8Scale::of(largest_of_row(x, k));
    to.scales[i] = scale;
    const __m512 by = _mm512_set1_ps(inverse);
    std::uint8_t* const row = to.values + i * to.distance;
    for (std::int64_t p = 0; p < k; p += 16) {
      const __m512 numbers = p + 16 <= k ? _mm512_loadu_ps(x + p) : _mm512_maskz_loadu_ps(first_lanes(k - p), x + p);
      const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_add_epi32(rounded(numbers, by), shift));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(row + p), bytes);
    }
  }
}

inline Int8Scale store_scale(const Int8ColumnPanel& to, std::int64_t column, std::uint32_t largest) {
  const Int8Scale scale = Int8Scale::of(largest);
  to.scales[column] = scale.scale;
  return scale;
}

// Columns whose k is contiguous, from `first` on, 16 of them of which `count` are there.
void pack_contiguous(const Int8ColumnPanel& to, std::int64_t first, const float* data, std::int64_t ld,
                     std::int64_t count, std::int64_t k) {
  __m512 inverses[16];
  __m512i sums[16];
  for (std::int64_t j = 0; j < 16; ++j) {
    const std::uint32_t largest = j < count ? largest_of_row(data + j * ld, k) : 0;
    inverses[j] = _mm512_set1_ps(store_scale(to, first + j, largest).inverse);
    sums[j] = _mm512_setzero_si512();
  }
  const __m512i ones = _mm512_set1_epi8(1);
  for (std::int64_t p = 0; p < k; p += 64) {
    __m512i quads[16];  // quads[column][quad], then quads[quad][column]
#pragma GCC unroll 1
    for (std::int64_t j = 0; j < 16; ++j) {
      __m128i bytes[4];
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) {
        const __mmask16 there = j < count ? first_lanes(k - p - 16 * part) : 0;
        const __m512 numbers = _mm512_maskz_loadu_ps(there, data + j * ld + p + 16 * part);
        bytes[part] = _mm512_cvtepi32_epi8(rounded(numbers, inverses[j]));
      }
      quads[j] = _mm512_inserti32x4(
          _mm512_inserti32x4(_mm512_inserti32x4(_mm512_castsi128_si512(bytes[0]), bytes[1], 1), bytes[2], 2), bytes[3],
          3);
      sums[j] = _mm512_dpbusd_epi32(sums[j], ones, quads[j]);
    }
    transpose(quads);
    for (std::int64_t quad = 0; quad < 16 && p + quad * kInt8Depth < k; ++quad) {
      _mm512_storeu_si512(to.values + (p + quad * kInt8Depth) * kInt8Columns + first * kInt8Depth, quads[quad]);
    }
  }
  for (std::int64_t j = 0; j < 16; ++j) to.sums[first + j] = -128 * _mm512_reduce_add_epi32(sums[j]);
}

// The first `count` of 16 numbers, zeros in place of the others; kWhole: all 16 of them.
template <bool kWhole>
inline __m512 load_first(const float* from, std::int64_t count) {
  return kWhole ? _mm512_loadu_ps(from) : _mm512_maskz_loadu_ps(first_lanes(count), from);
}

// Columns that lie side by side in memory. All of them are read in one pass: memory brings two lines of the cache at
// once, and of rows that are far apart a second pass would not find the other line again. kWhole: all columns are
// there, so that no mask is needed.
template <bool kWhole>
void pack_side_by_side(const Int8ColumnPanel& to, const float* data, std::int64_t ld, std::int64_t count,
                       std::int64_t k) {
  constexpr int kHalves = kInt8Columns / 16;
  __m512i largest[kHalves], sums[kHalves];
  for (int half = 0; half < kHalves; ++half) {
    largest[half] = sums[half] = _mm512_setzero_si512();
  }
  for (std::int64_t p = 0; p < k; ++p) {
#pragma GCC unroll 2
    for (int half = 0; half < kHalves; ++half) {
      largest[half] = _mm512_max_epu32(largest[half],
                                       without_signs(load_first<kWhole>(data + p * ld + 16 * half, count - 16 * half)));
    }
  }
  std::uint32_t bits[kInt8Columns];
  float inverses[kInt8Columns];
  std::memcpy(bits, largest, sizeof(bits));
  for (std::int64_t j = 0; j < kInt8Columns; ++j) inverses[j] = store_scale(to, j, bits[j]).inverse;
  const __m512i byte = _mm512_set1_epi32(0xFF), ones = _mm512_set1_epi8(1);
  for (std::int64_t p = 0; p < k; p += kInt8Depth) {
#pragma GCC unroll 2
    for (int half = 0; half < kHalves; ++half) {
      const __m512 inverse = _mm512_loadu_ps(inverses + 16 * half);
      __m512i quads = _mm512_setzero_si512();
#pragma GCC unroll 4
      for (int i = 0; i < kInt8Depth; ++i) {
        if (p + i >= k) break;
        const __m512 numbers = load_first<kWhole>(data + (p + i) * ld + 16 * half, count - 16 * half);
        quads = _mm512_or_si512(quads, _mm512_slli_epi32(_mm512_and_si512(rounded(numbers, inverse), byte), 8 * i));
      }
      sums[half] = _mm512_dpbusd_epi32(sums[half], ones, quads);
      _mm512_storeu_si512(to.values + p * kInt8Columns + 16 * kInt8Depth * half, quads);
    }
  }
  for (int half = 0; half < kHalves; ++half) {
    _mm512_storeu_si512(to.sums + 16 * half, _mm512_mullo_epi32(sums[half], _mm512_set1_epi32(-128)));
  }
}

void pack_columns_vnni(const Int8ColumnPanel& to, const PackSource& from, std::int64_t count, std::int64_t k) {
  if (!from.k_contiguous) {
    return (count == kInt8Columns ? pack_side_by_side<true> : pack_side_by_side<false>)(to, from.data, from.ld, count,
                                                                                        k);
  }
  for (std::int64_t first = 0; first < kInt8Columns; first += 16) {
    pack_contiguous(to, first, from.data + first * from.ld, from.ld, count - first, k);
  }
}

// 16 sums. g++ 12 keeps an array of __m512i in memory, because such a vector may be anything.
using IntSums = std::int32_t __attribute__((vector_size(64)));
inline IntSums add_products(IntSums sums, __m512i row, __m512i columns) {
  return (IntSums)_mm512_dpbusd_epi32((__m512i)sums, row, columns);
}

// 14 rows of sums in 28 of the 32 registers.
template <int kTileRows>
void multiply_rows_vnni(float* c, std::int64_t ldc, const Int8RowPanel& a, const Int8ColumnPanel& b,
                        std::int64_t columns, std::int64_t k, float beta) {
  IntSums sums[kTileRows][2];
  const IntSums left_sums = (IntSums)_mm512_loadu_si512(b.sums), right_sums = (IntSums)_mm512_loadu_si512(b.sums + 16);
#pragma GCC unroll 14
  for (int i = 0; i < kTileRows; ++i) {
    sums[i][0] = left_sums;
    sums[i][1] = right_sums;
    // What is written at the end comes while the products are computed.
    constexpr int kWrite = 1;
    __builtin_prefetch(c + i * ldc, kWrite);
    __builtin_prefetch(c + i * ldc + columns - 1, kWrite);
  }
  const std::uint8_t* rows = a.values;
  const std::int8_t* panel = b.values;
  for (std::int64_t p = 0; p < k; p += kInt8Depth, rows += kInt8Depth, panel += kInt8Depth * kInt8Columns) {
    const __m512i left = _mm512_loadu_si512(panel), right = _mm512_loadu_si512(panel + 64);
#pragma GCC unroll 14
    for (int i = 0; i < kTileRows; ++i) {
      int quad;
      std::memcpy(&quad, rows + i * a.distance, sizeof(quad));
      const __m512i row = _mm512_set1_epi32(quad);
      sums[i][0] = add_products(sums[i][0], row, left);
      sums[i][1] = add_products(sums[i][1], row, right);
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __mmask16 there = columns == kInt8Columns ? 0xFFFF : first_lanes(columns - 16 * half);
      const __m512 scales = _mm512_mul_ps(_mm512_set1_ps(a.scales[i]), _mm512_loadu_ps(b.scales + 16 * half));
      store_sums(c + i * ldc + 16 * half, _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sums[i][half]), scales), there, 1,
                 beta);
    }
  }
}

template <int... kLess>
void multiply_any_vnni(std::integer_sequence<int, kLess...>, std::int64_t rows, float* c, std::int64_t ldc,
                       const Int8RowPanel& a, const Int8ColumnPanel& b, std::int64_t columns, std::int64_t k,
                       float beta) {
  static constexpr decltype(&multiply_rows_vnni<1>) kByRows[] = {&multiply_rows_vnni<kLess + 1>...};
  kByRows[rows - 1](c, ldc, a, b, columns, k, beta);
}

void multiply_vnni(float* c, std::int64_t ldc, const Int8RowPanel& a, const Int8ColumnPanel& b, std::int64_t rows,
                   std::int64_t columns, std::int64_t k, float beta) {
  multiply_any_vnni(std::make_integer_sequence<int, kInt8Rows>(), rows, c, ldc, a, b, columns, k, beta);
}

}  // namespace
}  // namespace tapeformer::kernels

HWY_POP_ATTRIBUTES

namespace tapeformer::kernels {

const Int8Unit* avx512_int8_unit() {
  static constexpr Int8Unit unit{pack_rows_vnni, pack_columns_vnni, multiply_vnni};
  return has_avx512_vnni() ? &unit : nullptr;
}

}  // namespace tapeformer::kernels

#else

namespace tapeformer::kernels {
const Int8Unit* avx512_int8_unit() { return nullptr; }
}  // namespace tapeformer::kernels

#endif
