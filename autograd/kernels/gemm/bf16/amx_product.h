// The product of two packed panels by tiles of AMX. The tiles are a parameter, so that the same code can be checked
// where the CPU has none.
#pragma once

#include "autograd/kernels/gemm/bf16/bf16_unit.h"

namespace tapeformer::kernels {

// A block of k is as deep as both panels fit into 48 KiB of L1 with their sums: a tile takes 8 cycles to load from
// there, its product 16, and two tiles of each operand make four products. From L2 alone the loads would take longer.
inline constexpr std::int64_t kAmxRows = 32, kAmxDepth = 256, kAmxRowDistance = kAmxDepth + 32;

// Tiles of 16 rows of 64 bytes, numbered 0 to 7:
//   zero<t>();  load<t>(address, bytes between rows);  store<t>(address, bytes between rows);
//   add_product<c, a, b>(): c (16 × 16 floats) += a (16 rows of 16 pairs)·b (16 pairs of 16 columns)
// c is made of 2 × 2 tiles of sums, 0 to 3; the operands pass through the other four.
template <class Tiles>
inline void multiply_by_tiles(float* c, std::int64_t ldc, const Bf16* a, const Bf16* b, std::int64_t rows,
                              std::int64_t columns, std::int64_t depth, float alpha, float beta) {
  constexpr std::int64_t kRowBytes = kAmxRowDistance * sizeof(Bf16), kPairBytes = 2 * kPanelColumns * sizeof(Bf16);
  const bool lower = rows > 16, right = columns > 16;
  // c itself is the tiles' memory where it has all of their elements and needs no scaling.
  const bool adds_to_c = alpha == 1 && beta == 1, whole = rows == kAmxRows && columns == kPanelColumns;
  const bool direct = whole && alpha == 1 && (beta == 0 || beta == 1);
  alignas(64) float copy[kAmxRows][kPanelColumns];
  float* const sums = direct ? c : &copy[0][0];
  const std::int64_t ld = direct ? ldc : kPanelColumns;
  const std::int64_t sum_bytes = ld * static_cast<std::int64_t>(sizeof(float));
  if (adds_to_c) {
    if (!direct) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) copy[i][j] = c[i * ldc + j];
      }
    }
    Tiles::template load<0>(sums, sum_bytes);
    if (right) Tiles::template load<1>(sums + 16, sum_bytes);
    if (lower) Tiles::template load<2>(sums + 16 * ld, sum_bytes);
    if (lower && right) Tiles::template load<3>(sums + 16 * ld + 16, sum_bytes);
  } else {
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    Tiles::template zero<2>();
    Tiles::template zero<3>();
    // What is written at the end comes while the products are computed.
    for (std::int64_t i = 0; i < rows; ++i) {
      __builtin_prefetch(c + i * ldc, /*write=*/1);
      __builtin_prefetch(c + i * ldc + columns - 1, /*write=*/1);
    }
  }
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
  Tiles::template store<0>(sums, sum_bytes);
  if (right) Tiles::template store<1>(sums + 16, sum_bytes);
  if (lower) Tiles::template store<2>(sums + 16 * ld, sum_bytes);
  if (lower && right) Tiles::template store<3>(sums + 16 * ld + 16, sum_bytes);
  if (direct) return;
  for (std::int64_t i = 0; i < rows; ++i, c += ldc) {
    if (adds_to_c || beta == 0) {
      for (std::int64_t j = 0; j < columns; ++j) c[j] = alpha * copy[i][j];
    } else {
      for (std::int64_t j = 0; j < columns; ++j) c[j] = beta * c[j] + alpha * copy[i][j];
    }
  }
}

}  // namespace tapeformer::kernels
