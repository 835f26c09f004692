// Products of few rows by AVX512_BF16, which pack nothing.
#include "autograd/kernels/gemm/bf16/bf16_unit_functions.h"

#if defined(__x86_64__)
#include <algorithm>
#include <iterator>

#include "autograd/kernels/gemm/bf16/avx512_vectors.h"
#include "autograd/kernels/gemm/gemm.h"

HWY_PUSH_ATTRIBUTES(TAPEFORMER_AVX512_BF16)

namespace tapeformer::kernels {
namespace {

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
void multiply_few(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const B* b, std::int64_t ldb,
                  std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta) {
  static constexpr decltype(&times_rows<1, B>) kByRows[] = {times_rows<1, B>, times_rows<2, B>, times_rows<3, B>,
                                                            times_rows<4, B>, times_rows<5, B>, times_rows<6, B>,
                                                            times_rows<7, B>, times_rows<8, B>};
  static_assert(std::size(kByRows) == kFewRows);
  for (std::int64_t i = 0; i < m; i += kFewRows) {
    kByRows[std::min(kFewRows, m - i) - 1](c + i * ldc, ldc, a + i * lda, lda, b, ldb, n, k, alpha, beta);
  }
}

// c (kLeft, n) = beta·c + alpha·a (kLeft, k)·b (k, n); b is f32, rows ldb apart, and is rounded on the way.
template <int kLeft>
void multiply_few_strided(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const float* b, std::int64_t ldb,
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
  multiply_few(c, ldc, a, lda, b, ldb, m, n, k, alpha, beta);
}

void round_and_multiply_few_rows_avx512(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda,
                                        const PackSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
                                        float alpha, float beta) {
  if (b.k_contiguous) return multiply_few(c, ldc, a, lda, b.data, b.ld, m, n, k, alpha, beta);
  static constexpr decltype(&multiply_few_strided<1>) kByRows[] = {
      multiply_few_strided<1>, multiply_few_strided<2>, multiply_few_strided<3>, multiply_few_strided<4>,
      multiply_few_strided<5>, multiply_few_strided<6>, multiply_few_strided<7>, multiply_few_strided<8>};
  static_assert(std::size(kByRows) == kFewRows);
  for (std::int64_t i = 0; i < m; i += kFewRows) {
    kByRows[std::min(kFewRows, m - i) - 1](c + i * ldc, ldc, a + i * lda, lda, b.data, b.ld, n, k, alpha, beta);
  }
}

}  // namespace tapeformer::kernels

HWY_POP_ATTRIBUTES
#endif
