// Matrix products on the calling thread, for the sizes that attention has inside its parallel loop. Operands are not
// packed, and masked elements are not computed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "autograd/kernels/read_ahead.h"

namespace tapeformer::kernels {

// Element (i, p) is data[i·row + p·column].
template <class T>
struct StridedMatrix {
  const T* data;
  std::int64_t row, column;
};

// The mask of a product: query i sees the keys first_seen[i] to first_visible + i − 1.
struct Band {
  enum Kind {
    all,
    output,           // c is (queries, keys): its masked elements may hold anything afterwards
    left,             // a is (queries, keys): its masked elements are 0 and are skipped
    left_transposed,  // the same, with a as (keys, queries)
  } kind = all;
  std::int64_t first_visible = 0;
  const std::int32_t* first_seen = nullptr;  // one for each query, ascending; null: 0 for all

  // Whether all of the columns [column, column + columns) of `rows` rows of c, from `row` on, are masked.
  bool hides(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    if (kind != output) return false;
    return column >= first_visible + row + rows - 1 || column + columns <= (first_seen ? first_seen[row] : 0);
  }

  // The part of [begin, end) of k where `rows` rows of a, from `row` on, are not all masked.
  struct Range {
    std::int64_t begin, end;
  };
  Range visible_depth(std::int64_t row, std::int64_t rows, std::int64_t begin, std::int64_t end) const {
    if (kind == left) {
      const std::int64_t from = std::min(end, std::max<std::int64_t>(begin, first_seen ? first_seen[row] : 0));
      return {from, std::min(end, std::max(from, first_visible + row + rows - 1))};
    }
    if (kind == left_transposed) {
      const std::int64_t from = std::min(end, std::max(begin, row - first_visible + 1));  // the first to see key `row`
      while (first_seen && end > from && first_seen[end - 1] >= row + rows) --end;  // its document begins after these
      return {from, end};
    }
    return {begin, end};
  }
};

// The length of the blocks of k that band_gemm adds up one after the other.
inline constexpr std::int64_t kBandDepth = 256;

// c (m, n), rows ldc apart = beta·c + alpha·a (m, k)·b (k, n), b's rows contiguous and ldb apart. With beta 0, c is not
// read. Each sum over k adds in order, in blocks, so that an element has the same bits for any m and n. `ahead`
// advances tile by tile; null: nothing is read ahead.
template <class T>
void band_gemm(T* c, std::int64_t ldc, StridedMatrix<T> a, const T* b, std::int64_t ldb, std::int64_t m, std::int64_t n,
               std::int64_t k, T alpha, T beta, Band band = {}, ReadAhead* ahead = nullptr);

// y (cols, rows), rows ldy apart = the transpose of x (rows, cols), rows ldx apart.
template <class T>
void transpose(T* y, std::int64_t ldy, const T* x, std::int64_t ldx, std::int64_t rows, std::int64_t cols);

}  // namespace tapeformer::kernels
