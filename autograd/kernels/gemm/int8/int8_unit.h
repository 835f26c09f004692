// What multiplies matrices of whole numbers of 8 bits: AVX512_VNNI, or plain C++ with the same bits. For int8_gemm.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstdint>

#include "autograd/kernels/gemm/bf16/bf16_unit.h"

namespace tapeformer::kernels {

// The size of a tile of the result.
inline constexpr std::int64_t kInt8Rows = 14, kInt8Columns = 32;
// Numbers are read four at a time.
inline constexpr std::int64_t kInt8Depth = 4;
inline std::int64_t int8_depth(std::int64_t k) { return (k + kInt8Depth - 1) / kInt8Depth * kInt8Depth; }

// Rows of the left operand, `distance` apart. Instructions multiply numbers without a sign by numbers with one, so 128
// is added to them. After element k − 1 there may be anything.
struct Int8RowPanel {
  std::uint8_t* values;
  std::int64_t distance;
  float* scales;  // of each row
};

// Up to kInt8Columns columns of the right operand: first elements 0 to 3 of each column, side by side, then elements 4
// to 7, and so on, with zeros from k to int8_depth(k).
struct Int8ColumnPanel {
  std::int8_t* values;
  float* scales;       // of each column
  std::int32_t* sums;  // −128 times the sum of each column, which takes the rows' 128 away again
};

// How the numbers of a row or column are rounded: number·inverse to nearest, ties to even.
struct Int8Scale {
  float scale, inverse;

  // Returns the scale of numbers, the largest of which has these bits without its sign. The bits of a NaN are larger
  // than those of any number.
  static Int8Scale of(std::uint32_t largest) {
    const float most = std::bit_cast<float>(largest);
    constexpr float kTooSmall = 128 * FLT_MIN;  // 127 / it would be infinite
    return most < kTooSmall ? Int8Scale{0, 0} : Int8Scale{most / 127, 127 / most};
  }
};

struct Int8Unit {
  // Rounds `count` rows, at most kInt8Rows, of k elements; rows of x are ld apart.
  void (*pack_rows)(const Int8RowPanel& to, const float* x, std::int64_t ld, std::int64_t count, std::int64_t k);
  // Rounds `count` columns, at most kInt8Columns, of k elements. The other columns of the panel become 0.
  void (*pack_columns)(const Int8ColumnPanel& to, const PackSource& from, std::int64_t count, std::int64_t k);
  // c (rows, columns), rows ldc apart = beta·c + (a row panel)·(a column panel). With beta 0, c is not read.
  void (*multiply)(float* c, std::int64_t ldc, const Int8RowPanel& a, const Int8ColumnPanel& b, std::int64_t rows,
                   std::int64_t columns, std::int64_t k, float beta);
};

const Int8Unit& portable_int8_unit();
// Null where the CPU has no AVX512_VNNI.
const Int8Unit* avx512_int8_unit();

}  // namespace tapeformer::kernels
