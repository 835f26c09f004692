// Products of packed panels by AVX512_BF16's dot products.
#include "autograd/kernels/gemm/bf16/bf16_unit_functions.h"

#if defined(__x86_64__)
#include <utility>

#include "autograd/kernels/gemm/bf16/avx512_vectors.h"

HWY_PUSH_ATTRIBUTES(TAPEFORMER_AVX512_BF16)

namespace tapeformer::kernels {
namespace {

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

}  // namespace

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
