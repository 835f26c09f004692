// The product of two packed panels by tiles of AMX. The tiles are a parameter, so that the same code can be checked
// where the CPU has none.
#pragma once

#include "autograd/kernels/gemm/bf16/bf16_unit.h"

namespace tapeformer::kernels {

inline constexpr std::int64_t kAmxRows = 32, kAmxDepth = 512, kAmxRowDistance = kAmxDepth + 32;

// Tiles of 16 rows of 64 bytes, numbered 0 to 7:
//   zero<t>();  load<t>(address, bytes between rows);  store<t>(address, bytes between rows);
//   add_product<c, a, b>(): c (16 × 16 floats) += a (16 rows of 16 pairs)·b (16 pairs of 16 columns)
// c is made of 2 × 2 tiles of sums, 0 to 3; the operands pass through the other four.
template <class Tiles>
inline void multiply_by_tiles(float* c, std::int64_t ldc, const Bf16* a, const Bf16* b, std::int64_t rows,
                              std::int64_t columns, std::int64_t depth, float alpha, float beta) {
  constexpr std::int64_t kRowBytes = kAmxRowDistance * sizeof(Bf16), kPairBytes = 2 * kPanelColumns * sizeof(Bf16);
  const bool lower = rows > 16, right = columns > 16;
  Tiles::template zero<0>();
  Tiles::template zero<1>();
  Tiles::template zero<2>();
  Tiles::template zero<3>();
  for (std::int64_t p = 0; p < depth; p += kPackedDepth) {
    const Bf16 *const a_rows = a + p, *const b_pairs = b + p * kPanelColumns;
    Tiles::template load<4>(a_rows, kRowBytes);
    Tiles::template load<6>(b_pairs, kPairBytes);
    Tiles::template add_product<0, 4, 6>();
    if (right) {
      Tiles::template load<7>(b_pairs + 32, kPairBytes);
      Tiles::template add_product<1, 4, 7>();
    }
    if (lower) {
      Tiles::template load<5>(a_rows + 16 * kAmxRowDistance, kRowBytes);
      Tiles::template add_product<2, 5, 6>();
      if (right) Tiles::template add_product<3, 5, 7>();
    }
  }
  alignas(64) float sums[kAmxRows][kPanelColumns];
  Tiles::template store<0>(&sums[0][0], sizeof(sums[0]));
  if (right) Tiles::template store<1>(&sums[0][16], sizeof(sums[0]));
  if (lower) Tiles::template store<2>(&sums[16][0], sizeof(sums[0]));
  if (lower && right) Tiles::template store<3>(&sums[16][16], sizeof(sums[0]));
  for (std::int64_t i = 0; i < rows; ++i, c += ldc) {
    if (beta == 0) {
      for (std::int64_t j = 0; j < columns; ++j) c[j] = alpha * sums[i][j];
    } else {
      for (std::int64_t j = 0; j < columns; ++j) c[j] = beta * c[j] + alpha * sums[i][j];
    }
  }
}

}  // namespace tapeformer::kernels
