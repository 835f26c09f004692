#include "autograd/kernels/gemm/band_gemm.h"

#include "autograd/kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {
namespace {

// The sums of a tile of c stay in registers over a block of k. AVX-512 has 32 registers, the others have 16.
constexpr int kTileRows = 6;
constexpr int kTileVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

// c (kRows, up to kVectors vectors) = beta·c + alpha·a·b over k; `cols` is used only if kTail.
template <int kRows, int kVectors, bool kTail, class T>
HWY_INLINE void tile(T* c, std::int64_t ldc, const StridedMatrix<T>& a, const T* b, std::int64_t ldb, std::int64_t k,
                     T alpha, T beta, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t step = lanes(d);
  V sums[kRows][kVectors];
  SIMD_UNROLL for (int i = 0; i < kRows; ++i) {
    SIMD_UNROLL for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
  }
  const T* a_column = a.data;
  for (std::int64_t p = 0; p < k; ++p, a_column += a.column, b += ldb) {
    V b_row[kVectors];
    SIMD_UNROLL for (int j = 0; j < kVectors; ++j) {
      b_row[j] = kTail ? load(d, b + j * step, cols - j * step) : hn::LoadU(d, b + j * step);
    }
    SIMD_UNROLL for (int i = 0; i < kRows; ++i) {
      const V factor = hn::Set(d, a_column[i * a.row]);
      SIMD_UNROLL for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(factor, b_row[j], sums[i][j]);
    }
  }
  const V scale = hn::Set(d, alpha), keep = hn::Set(d, beta);
  SIMD_UNROLL for (int i = 0; i < kRows; ++i) {
    SIMD_UNROLL for (int j = 0; j < kVectors; ++j) {
      T* const to = c + i * ldc + j * step;
      const std::int64_t left = kTail ? cols - j * step : step;
      V out = hn::Mul(sums[i][j], scale);
      if (beta != T{0}) out = hn::MulAdd(load(d, to, left), keep, out);
      store(d, out, to, left);
    }
  }
}

template <int kVectors, bool kTail, class T>
HWY_INLINE void tile(std::int64_t rows, T* c, std::int64_t ldc, const StridedMatrix<T>& a, const T* b, std::int64_t ldb,
                     std::int64_t k, T alpha, T beta, std::int64_t cols) {
  switch (rows) {
    case 1:
      return tile<1, kVectors, kTail>(c, ldc, a, b, ldb, k, alpha, beta, cols);
    case 2:
      return tile<2, kVectors, kTail>(c, ldc, a, b, ldb, k, alpha, beta, cols);
    case 3:
      return tile<3, kVectors, kTail>(c, ldc, a, b, ldb, k, alpha, beta, cols);
    case 4:
      return tile<4, kVectors, kTail>(c, ldc, a, b, ldb, k, alpha, beta, cols);
    case 5:
      return tile<5, kVectors, kTail>(c, ldc, a, b, ldb, k, alpha, beta, cols);
    default:
      return tile<kTileRows, kVectors, kTail>(c, ldc, a, b, ldb, k, alpha, beta, cols);
  }
}

// Computes the columns [j, j + width) of all tiles.
template <int kVectors, bool kTail, class T>
HWY_INLINE void strip(T* c, std::int64_t ldc, const StridedMatrix<T>& a, const T* b, std::int64_t ldb, std::int64_t m,
                      std::int64_t begin, std::int64_t end, T alpha, T beta, const Band& band, ReadAhead* ahead,
                      std::int64_t j, std::int64_t width) {
  for (std::int64_t i = 0; i < m; i += kTileRows) {
    const std::int64_t rows = std::min<std::int64_t>(kTileRows, m - i);
    if (band.hides(i, rows, j, width)) continue;
    const auto [from, to] = band.visible_depth(i, rows, begin, end);
    if (from == to && beta == T{1}) continue;
    tile<kVectors, kTail>(rows, c + i * ldc + j, ldc, {a.data + i * a.row + from * a.column, a.row, a.column},
                          b + from * ldb + j, ldb, to - from, alpha, beta, width);
    if (ahead) ahead->advance();
  }
}

}  // namespace

template <class T>
void band_gemm(T* c, std::int64_t ldc, StridedMatrix<T> a, const T* b, std::int64_t ldb, std::int64_t m, std::int64_t n,
               std::int64_t k, T alpha, T beta, Band band, ReadAhead* ahead) {
  const std::int64_t step = lanes(hn::ScalableTag<T>());
  std::int64_t begin = 0;
  do {
    const std::int64_t end = std::min(k, begin + kBandDepth);
    std::int64_t j = 0;
    if constexpr (kTileVectors == 4) {
      for (; n - j >= 4 * step; j += 4 * step) {
        strip<4, false>(c, ldc, a, b, ldb, m, begin, end, alpha, beta, band, ahead, j, 4 * step);
      }
    }
    for (; n - j >= 2 * step; j += 2 * step) {
      strip<2, false>(c, ldc, a, b, ldb, m, begin, end, alpha, beta, band, ahead, j, 2 * step);
    }
    for (; j < n; j += step) strip<1, true>(c, ldc, a, b, ldb, m, begin, end, alpha, beta, band, ahead, j, n - j);
    begin = end;
    beta = 1;
  } while (begin < k);
}

// Goes by blocks of 4 × 4 where there are vectors of four elements.
template <class T>
void transpose(T* y, std::int64_t ldy, const T* x, std::int64_t ldx, std::int64_t rows, std::int64_t cols) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if constexpr (std::is_same_v<T, float>) {
    const hn::FixedTag<float, 4> d;
    const hn::FixedTag<double, 2> pairs;
    for (; i + 4 <= rows; i += 4) {
      std::int64_t j = 0;
      for (; j + 4 <= cols; j += 4) {
        const float* const from = x + i * ldx + j;
        float* const to = y + j * ldy + i;
        const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + ldx);
        const auto r2 = hn::LoadU(d, from + 2 * ldx), r3 = hn::LoadU(d, from + 3 * ldx);
        const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
        const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
        const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
        const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + ldy);
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * ldy);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * ldy);
      }
      for (; j < cols; ++j) {
        for (std::int64_t r = i; r < i + 4; ++r) y[j * ldy + r] = x[r * ldx + j];
      }
    }
  }
#endif
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) y[j * ldy + i] = x[i * ldx + j];
  }
}

SIMD_FLOATS(band_gemm);
SIMD_FLOATS(transpose);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(band_gemm);
template <class T>
void band_gemm(T* c, std::int64_t ldc, StridedMatrix<T> a, const T* b, std::int64_t ldb, std::int64_t m, std::int64_t n,
               std::int64_t k, T alpha, T beta, Band band, ReadAhead* ahead) {
  SIMD_CALL(band_gemm, T)(c, ldc, a, b, ldb, m, n, k, alpha, beta, band, ahead);
}
SIMD_INSTANTIATE(band_gemm);

SIMD_EXPORT(transpose);
template <class T>
void transpose(T* y, std::int64_t ldy, const T* x, std::int64_t ldx, std::int64_t rows, std::int64_t cols) {
  SIMD_CALL(transpose, T)(y, ldy, x, ldx, rows, cols);
}
SIMD_INSTANTIATE(transpose);

}  // namespace tapeformer::kernels
#endif
