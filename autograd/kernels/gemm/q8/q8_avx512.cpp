// Products of rows of q8_0 by AVX512_VNNI.
#include "autograd/kernels/gemm/q8/q8_functions.h"

#if defined(__x86_64__)
#include <algorithm>

#include "autograd/kernels/gemm/bf16/avx512_vectors.h"

HWY_PUSH_ATTRIBUTES(TAPEFORMER_AVX512_VNNI)

namespace tapeformer::kernels {
namespace {

constexpr int kQ8RowsAtOnce = 8;  // of b at a time: as many sums never wait for an addition
// The blocks whose scales a vector holds, and the numbers in them.
constexpr std::int64_t kQ8Scales = 16, kQ8Chunk = kQ8Scales * kQ8Block;

// Adds to `sums` the products of two blocks of a, or of one if `left` is kQ8Block, with those of kCount rows of b,
// which begin k apart. The instruction multiplies numbers without a sign by numbers with one: so a's numbers lose their
// signs, and b's are negated where a's were negative. The rows after these are fetched meanwhile: rows are too short
// for the CPU to foresee them.
template <int kCount>
inline void add_q8_pair(__m512 (&sums)[kCount], const __m512 (&scales)[kCount], int pair, const std::int8_t* a,
                        const std::int8_t* b, std::int64_t k, std::int64_t left) {
  const __mmask64 there = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
  const __m512i x = _mm512_maskz_loadu_epi8(there, a), size = _mm512_abs_epi8(x), zero = _mm512_setzero_si512();
  const __mmask64 negative = _mm512_movepi8_mask(x);
  // The scale of the first block for eight lanes, that of the second for the others.
  const __m512i places =
      _mm512_add_epi32(_mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0), _mm512_set1_epi32(2 * pair));
#pragma GCC unroll 8
  for (int j = 0; j < kCount; ++j) {
    const std::int8_t* const from = b + j * k;
    _mm_prefetch(reinterpret_cast<const char*>(from + kCount * k), _MM_HINT_T0);
    const __m512i row = _mm512_maskz_loadu_epi8(there, from);
    const __m512i dots = _mm512_dpbusd_epi32(zero, size, _mm512_mask_sub_epi8(row, negative, zero, row));
    sums[j] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), _mm512_permutexvar_ps(places, scales[j]), sums[j]);
  }
}

template <int kCount>
inline void multiply_q8_rows(float* c, const Q8Left& a, const Q8Rows& b, std::int64_t k) {
  __m512 sums[kCount], scales[kCount];
#pragma GCC unroll 8
  for (int j = 0; j < kCount; ++j) sums[j] = _mm512_setzero_ps();
  for (std::int64_t first = 0; first < k; first += kQ8Chunk) {
    const std::int64_t block = first / kQ8Block, left = k - first;
    const __mmask16 there = first_lanes(left / kQ8Block);
    const __m512 a_scales = _mm512_maskz_loadu_ps(there, a.scales + block);
#pragma GCC unroll 8
    for (int j = 0; j < kCount; ++j) {
      const F16* const from = b.scales + j * (k / kQ8Block) + block;
      _mm_prefetch(reinterpret_cast<const char*>(from + kCount * (k / kQ8Block)), _MM_HINT_T0);
      const __m256i halves = left >= kQ8Chunk ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))
                                              : _mm256_maskz_loadu_epi16(there, from);
      scales[j] = _mm512_mul_ps(_mm512_cvtph_ps(halves), a_scales);
    }
    if (left >= kQ8Chunk) {
#pragma GCC unroll 8
      for (int pair = 0; pair < kQ8Scales / 2; ++pair) {
        add_q8_pair(sums, scales, pair, a.values + first + 64 * pair, b.values + first + 64 * pair, k, 64);
      }
    } else {
      for (int pair = 0; 64 * pair < left; ++pair) {
        add_q8_pair(sums, scales, pair, a.values + first + 64 * pair, b.values + first + 64 * pair, k,
                    left - 64 * pair);
      }
    }
  }
  if constexpr (kCount == 1) {
    const __m512 zero = _mm512_setzero_ps(), four[4] = {sums[0], zero, zero, zero};
    *c = _mm_cvtss_f32(sums_of_lanes(four));
  } else {
#pragma GCC unroll 2
    for (int j = 0; j < kCount; j += 4) _mm_storeu_ps(c + j, sums_of_lanes(sums + j));
  }
}

}  // namespace

void multiply_q8_row_avx512(float* c, const Q8Left& a, const Q8Rows& b, std::int64_t n, std::int64_t k) {
  std::int64_t j = 0;
  for (; j + kQ8RowsAtOnce <= n; j += kQ8RowsAtOnce) multiply_q8_rows<kQ8RowsAtOnce>(c + j, a, b.from(j * k), k);
  for (; j < n; ++j) multiply_q8_rows<1>(c + j, a, b.from(j * k), k);
}

bool has_avx512_vnni() {
  static const bool has = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
  }();
  return has;
}

}  // namespace tapeformer::kernels

HWY_POP_ATTRIBUTES
#else
#include "core/error.h"

namespace tapeformer::kernels {

void multiply_q8_row_avx512(float*, const Q8Left&, const Q8Rows&, std::int64_t, std::int64_t) {
  fail("AVX512_VNNI: this CPU has none");
}
bool has_avx512_vnni() { return false; }

}  // namespace tapeformer::kernels
#endif
