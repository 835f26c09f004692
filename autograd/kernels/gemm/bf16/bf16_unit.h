// What multiplies matrices of bf16: tiles of AMX, dot products of AVX512_BF16, or software. All of them read the panels
// of large products in the same packed form, so that one blocked product (bf16_gemm.h) drives any of them.
#pragma once

#include "autograd/kernels/gemm/bf16/bf16.h"

namespace tapeformer::kernels {

// Operands are packed in panels over a block of k, with zeros after its end up to a multiple of kPackedDepth.
// A row panel holds up to unit.rows rows of the left operand; each begins unit.row_distance elements after the one
// before it.
// A column panel holds kPanelColumns columns of the right one: first elements 0 and 1 of k of every column, side by
// side, then elements 2 and 3, and so on. Columns and rows that the operand does not have may hold anything.
inline constexpr std::int64_t kPanelColumns = 32;
inline constexpr std::int64_t kPackedDepth = 32;
inline std::int64_t packed_depth(std::int64_t depth) {
  return (depth + kPackedDepth - 1) / kPackedDepth * kPackedDepth;
}

// Vectors of an operand along k: rows of the left one, columns of the right one. Element p of vector i is
// data[i·ld + p] where k is contiguous, else data[p·ld + i].
template <class T>
struct PackSourceOf {
  const T* data;
  std::int64_t ld;
  bool k_contiguous;
};
using PackSource = PackSourceOf<float>;

struct Bf16Unit {
  const char* name;
  std::int64_t rows;          // of a row panel at most
  std::int64_t depth;         // of a block of k at most; a multiple of kPackedDepth
  std::int64_t row_distance;  // between the rows of a row panel

  // Packs `count` vectors, `depth` long, as a row panel or a column panel. high gets the rounded numbers; low, unless
  // it is null, what rounding took away, rounded in turn.
  void (*pack_rows)(Bf16* high, Bf16* low, std::int64_t row_distance, const PackSource& source, std::int64_t count,
                    std::int64_t depth);
  void (*pack_columns)(Bf16* high, Bf16* low, const PackSource& source, std::int64_t count, std::int64_t depth);
  // pack_columns for columns that are rounded already; each begins ld elements after the one before it.
  void (*pack_rounded_columns)(Bf16* to, const Bf16* columns, std::int64_t ld, std::int64_t count, std::int64_t depth);

  // c (rows, columns), rows ldc apart = beta·c + alpha·(a row panel)·(a column panel). Products are exact and add up in
  // float. With beta 0, c is not read.
  void (*multiply)(float* c, std::int64_t ldc, const Bf16* row_panel, const Bf16* column_panel, std::int64_t rows,
                   std::int64_t columns, std::int64_t depth, float alpha, float beta);

  // c (m, n), rows ldc apart = beta·c + alpha·a (m, k)·b (k, n) without panels, for any m, fast for few rows of a.
  // Rows of a are bf16, lda apart, and zero from k to packed_depth(k). With beta 0, c is not read. Needs no begin().
  // Each element adds up in an order that depends on k, and on how b lies in memory, alone.
  // Column j of b begins at b + j·ldb.
  void (*multiply_few_rows)(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const Bf16* b,
                            std::int64_t ldb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta);
  // The same for b in f32, which is rounded on the way; null where packing b is not slower.
  void (*round_and_multiply_few_rows)(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const PackSource& b,
                                      std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta);

  // A thread calls these before and after it multiplies panels.
  void (*begin)() = [] {};
  void (*end)() = [] {};
};

// The units of this CPU; null where it, or the operating system, does not offer one.
const Bf16Unit* amx_unit();
const Bf16Unit* avx512_bf16_unit();
const Bf16Unit& software_bf16_unit();

// The fastest of them, or the one that force_bf16_unit() chose.
const Bf16Unit& bf16_unit();
// For tests: makes bf16_unit() this one, for all threads; null: the fastest again.
void force_bf16_unit(const Bf16Unit* unit);

}  // namespace tapeformer::kernels
