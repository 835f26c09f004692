// bf16 products on any CPU: the same rounding, with multiplications and additions in float.
#include <cstring>

#include "autograd/kernels/gemm/bf16/bf16_unit_functions.h"
#include "autograd/kernels/simd/simd-inl.h"

#ifndef BF16_SOFTWARE_SIZES
#define BF16_SOFTWARE_SIZES
namespace tapeformer::kernels {
constexpr std::int64_t kRows = 12, kDepth = 256, kRowDistance = kDepth + 32;
}
#endif

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

using PanelTag = hn::CappedTag<float, 16>;
constexpr int kSumRows = HWY_TARGET <= HWY_AVX3 ? 12 : 4;  // of the sums that stay in registers

// kSumRows rows and kVectors vectors of columns of a tile. A pair of bf16 is widened to two floats.
template <int kSumRows, int kVectors>
void multiply_rows(float* c, std::int64_t ldc, const Bf16* a, const Bf16* b, std::int64_t columns, std::int64_t depth,
                   float alpha, float beta) {
  const PanelTag d;
  const hn::RebindToUnsigned<PanelTag> bits;
  const auto even = [&](auto pair) SIMD_LAMBDA { return hn::BitCast(d, hn::ShiftLeft<16>(pair)); };
  const auto odd = [&](auto pair) SIMD_LAMBDA { return hn::BitCast(d, hn::And(pair, hn::Set(bits, 0xFFFF0000U))); };
  hn::Vec<PanelTag> sums[kSumRows][kVectors];
  SIMD_UNROLL for (int i = 0; i < kSumRows; ++i) {
    SIMD_UNROLL for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  }
  for (std::int64_t p = 0; p < depth; p += 2, a += 2, b += 2 * kPanelColumns) {
    hn::Vec<PanelTag> b_even[kVectors], b_odd[kVectors];
    SIMD_UNROLL for (int v = 0; v < kVectors; ++v) {
      const auto pairs = hn::LoadU(bits, reinterpret_cast<const std::uint32_t*>(b) + v * lanes(d));
      b_even[v] = even(pairs), b_odd[v] = odd(pairs);
    }
    SIMD_UNROLL for (int i = 0; i < kSumRows; ++i) {
      std::uint32_t pair;
      std::memcpy(&pair, a + i * kRowDistance, sizeof(pair));
      const auto row = hn::Set(bits, pair);
      const auto a_even = even(row), a_odd = odd(row);
      SIMD_UNROLL for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = hn::MulAdd(a_odd, b_odd[v], hn::MulAdd(a_even, b_even[v], sums[i][v]));
      }
    }
  }
  SIMD_UNROLL for (int i = 0; i < kSumRows; ++i) {
    SIMD_UNROLL for (int v = 0; v < kVectors; ++v) {
      const std::int64_t left = columns - v * lanes(d);
      if (left > 0) {
        float* const to = c + i * ldc + v * lanes(d);
        auto out = hn::Mul(sums[i][v], hn::Set(d, alpha));
        if (beta != 0) out = hn::MulAdd(load(d, to, left), hn::Set(d, beta), out);
        store(d, out, to, left);
      }
    }
  }
}

void multiply_bf16(float* c, std::int64_t ldc, const Bf16* a, const Bf16* b, std::int64_t rows, std::int64_t columns,
                   std::int64_t depth, float alpha, float beta) {
  constexpr int kVectors = hn::MaxLanes(PanelTag()) == 1 ? 4 : 2;
  const std::int64_t step = kVectors * lanes(PanelTag());
  for (std::int64_t j = 0; j < columns; j += step) {
    for (std::int64_t i = 0; i < rows; i += kSumRows) {
      const auto multiply = i + kSumRows <= rows ? multiply_rows<kSumRows, kVectors> : multiply_rows<1, kVectors>;
      const std::int64_t end = i + kSumRows <= rows ? i + 1 : rows;
      for (std::int64_t row = i; row < end; ++row) {
        multiply(c + row * ldc + j, ldc, a + row * kRowDistance, b + 2 * j, columns - j, depth, alpha, beta);
      }
    }
  }
}

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {
namespace {

// Where element p of column i is in a column panel.
std::int64_t place_in_columns(std::int64_t i, std::int64_t p) { return p / 2 * 2 * kPanelColumns + 2 * i + p % 2; }

// Places element p of vector i at high[place(i, p)] and low[place(i, p)], zeros after the last.
template <class Place>
void pack(Bf16* high, Bf16* low, const PackSource& source, std::int64_t count, std::int64_t depth, const Place& place) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t p = 0; p < packed_depth(depth); ++p) {
      float x = 0;
      if (p < depth) x = source.data[source.k_contiguous ? i * source.ld + p : p * source.ld + i];
      const Bf16 rounded = round_to_bf16(x);
      high[place(i, p)] = rounded;
      if (low) low[place(i, p)] = round_to_bf16(x - widen(rounded));
    }
  }
}

}  // namespace

void pack_rows_by_software(Bf16* high, Bf16* low, std::int64_t row_distance, const PackSource& source,
                           std::int64_t count, std::int64_t depth) {
  pack(high, low, source, count, depth, [=](std::int64_t i, std::int64_t p) { return i * row_distance + p; });
}

void pack_columns_by_software(Bf16* high, Bf16* low, const PackSource& source, std::int64_t count, std::int64_t depth) {
  pack(high, low, source, count, depth, place_in_columns);
}

void pack_rounded_columns_by_software(Bf16* to, const Bf16* columns, std::int64_t ld, std::int64_t count,
                                      std::int64_t depth) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t p = 0; p < packed_depth(depth); ++p)
      to[place_in_columns(i, p)] = p < depth ? columns[i * ld + p] : 0;
  }
}

HWY_EXPORT(multiply_bf16);
namespace {
void multiply(float* c, std::int64_t ldc, const Bf16* row_panel, const Bf16* column_panel, std::int64_t rows,
              std::int64_t columns, std::int64_t depth, float alpha, float beta) {
  HWY_DYNAMIC_DISPATCH(multiply_bf16)(c, ldc, row_panel, column_panel, rows, columns, depth, alpha, beta);
}
}  // namespace

const Bf16Unit& software_bf16_unit() {
  static const Bf16Unit unit{.name = "software",
                             .rows = kRows,
                             .depth = kDepth,
                             .row_distance = kRowDistance,
                             .pack_rows = pack_rows_by_software,
                             .pack_columns = pack_columns_by_software,
                             .pack_rounded_columns = pack_rounded_columns_by_software,
                             .multiply = multiply,
                             .multiply_few_rows = multiply_few_rows_by_software,
                             .round_and_multiply_few_rows = nullptr};
  return unit;
}

}  // namespace tapeformer::kernels
#endif
