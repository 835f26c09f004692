#include "autograd/kernels/gemm/int8/int8_gemm.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "autograd/kernels/gemm/int8/int8_unit.h"
#include "autograd/kernels/gemm/q8/q8.h"
#include "autograd/kernels/read_ahead.h"
#include "autograd/kernels/scratch.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

// A number rounded to a whole one; 0 if it is not finite, as the scale tells then.
int rounded(float x, float inverse) {
  const float whole = std::nearbyint(x * inverse);
  return std::isfinite(whole) ? static_cast<int>(whole) : 0;
}

std::uint32_t without_sign(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF; }

void round_rows(const Int8RowPanel& to, const float* x, std::int64_t ld, std::int64_t count, std::int64_t k) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const from = x + i * ld;
    std::uint32_t largest = 0;
    for (std::int64_t p = 0; p < k; ++p) largest = std::max(largest, without_sign(from[p]));
    const auto [scale, inverse] = Int8Scale::of(largest);
    to.scales[i] = scale;
    for (std::int64_t p = 0; p < k; ++p) {
      to.values[i * to.distance + p] = static_cast<std::uint8_t>(rounded(from[p], inverse) + 128);
    }
  }
}

void round_columns(const Int8ColumnPanel& to, const PackSource& from, std::int64_t count, std::int64_t k) {
  std::fill_n(to.values, kInt8Columns * int8_depth(k), std::int8_t{0});
  for (std::int64_t j = 0; j < kInt8Columns; ++j) {
    const auto element = [&](std::int64_t p) {
      return from.data[from.k_contiguous ? j * from.ld + p : p * from.ld + j];
    };
    const std::int64_t size = j < count ? k : 0;
    std::uint32_t largest = 0;
    for (std::int64_t p = 0; p < size; ++p) largest = std::max(largest, without_sign(element(p)));
    const auto [scale, inverse] = Int8Scale::of(largest);
    to.scales[j] = scale;
    to.sums[j] = 0;
    for (std::int64_t p = 0; p < size; ++p) {
      const int whole = rounded(element(p), inverse);
      to.values[(p / kInt8Depth * kInt8Columns + j) * kInt8Depth + p % kInt8Depth] = static_cast<std::int8_t>(whole);
      to.sums[j] -= 128 * whole;
    }
  }
}

void multiply_panels(float* c, std::int64_t ldc, const Int8RowPanel& a, const Int8ColumnPanel& b, std::int64_t rows,
                     std::int64_t columns, std::int64_t k, float beta) {
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int32_t sums[kInt8Columns];
    std::copy_n(b.sums, kInt8Columns, sums);
    for (std::int64_t p = 0; p < k; ++p) {
      const int left = a.values[i * a.distance + p];
      const std::int8_t* const right = b.values + p / kInt8Depth * kInt8Depth * kInt8Columns + p % kInt8Depth;
      for (std::int64_t j = 0; j < kInt8Columns; ++j) sums[j] += left * right[j * kInt8Depth];
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      const float product = static_cast<float>(sums[j]) * (a.scales[i] * b.scales[j]);
      float& to = c[i * ldc + j];
      to = beta == 0 ? product : std::fma(to, beta, product);
    }
  }
}

// Memory for `count` packed panels of rows, from panel `first` on. Rows are a cache line further apart than they are
// long: else those of many lengths would share places of the cache.
class RowPanels {
 public:
  RowPanels(std::int64_t first, std::int64_t count, std::int64_t k)
      : first_(first),
        distance_(chunk_count(k, kLine) * kLine + kLine),
        values_(count * kInt8Rows * distance_),
        scales_(count * kInt8Rows) {}
  Int8RowPanel at(std::int64_t i) const {
    return {values_.data() + (i - first_) * kInt8Rows * distance_, distance_,
            scales_.data() + (i - first_) * kInt8Rows};
  }

 private:
  static constexpr std::int64_t kLine = kCacheLine;
  std::int64_t first_, distance_;
  Scratch<std::uint8_t> values_;
  Scratch<float> scales_;
};

// The same for columns.
class ColumnPanels {
 public:
  ColumnPanels(std::int64_t first, std::int64_t count, std::int64_t k)
      : first_(first),
        size_(kInt8Columns * int8_depth(k)),
        values_(count * size_),
        scales_(count * kInt8Columns),
        sums_(count * kInt8Columns) {}
  Int8ColumnPanel at(std::int64_t j) const {
    const std::int64_t column = (j - first_) * kInt8Columns;
    return {values_.data() + (j - first_) * size_, scales_.data() + column, sums_.data() + column};
  }

 private:
  std::int64_t first_, size_;
  Scratch<std::int8_t> values_;
  Scratch<float> scales_;
  Scratch<std::int32_t> sums_;
};

// All threads pack the smaller operand. Then each task packs a panel of the other one and multiplies it with all of the
// first, while the memory of the next panel comes to its cache.
class Int8Product {
 public:
  Int8Product(const Int8Unit& unit, const float* a, std::int64_t lda, MatrixView<float> b, std::int64_t m,
              std::int64_t n, std::int64_t k)
      : unit_(unit), a_(a), lda_(lda), b_(b), m_(m), n_(n), k_(k) {}

  // c (m, n), rows ldc apart = beta·c + a·b
  void write(float* c, std::int64_t ldc, float beta) const {
    const std::int64_t rows = chunk_count(m_, kInt8Rows), columns = chunk_count(n_, kInt8Columns);
    const auto multiply = [&](const RowPanels& a, std::int64_t i, const ColumnPanels& b, std::int64_t j) {
      unit_.multiply(c + i * kInt8Rows * ldc + j * kInt8Columns, ldc, a.at(i), b.at(j), rows_of(i), columns_of(j), k_,
                     beta);
    };
    if (m_ <= n_) {
      const RowPanels shared(0, rows, k_);
      parallel_for(0, rows, 1, [&](std::int64_t i, std::int64_t) { pack_rows(shared.at(i), i); });
      // The cache could not keep the lines of columns that lie across k, which compete for few sets.
      for_panels<ColumnPanels>(
          columns, rows, [&](const ColumnPanels& own, std::int64_t j) { pack_columns(own.at(j), j); },
          [&](ReadAhead& ahead, std::int64_t j) {
            if (b_.transposed) ahead.add(column(j), b_.ld, columns_of(j), k_);
          },
          [&](const ColumnPanels& own, std::int64_t j, std::int64_t i) { multiply(shared, i, own, j); });
    } else {
      const ColumnPanels shared(0, columns, k_);
      parallel_for(0, columns, 1, [&](std::int64_t j, std::int64_t) { pack_columns(shared.at(j), j); });
      for_panels<RowPanels>(
          rows, columns, [&](const RowPanels& own, std::int64_t i) { pack_rows(own.at(i), i); },
          [&](ReadAhead& ahead, std::int64_t i) { ahead.add(row(i), lda_, rows_of(i), k_); },
          [&](const RowPanels& own, std::int64_t i, std::int64_t j) { multiply(own, i, shared, j); });
    }
  }

 private:
  // Packs each of `count` panels in a task of its own by pack(own, i), and calls multiply(own, i, other) for all other
  // panels. Meanwhile the memory comes that add(ahead, i + 1) names, of which the next panel is made.
  template <class Panels>
  void for_panels(std::int64_t count, std::int64_t others, const auto& pack, const auto& add,
                  const auto& multiply) const {
    parallel_for(0, count, 1, [&](std::int64_t i, std::int64_t) {
      const Panels own(i, 1, k_);
      pack(own, i);
      ReadAhead ahead;
      if (i + 1 < count) add(ahead, i + 1);
      const std::int64_t lines = chunk_count(ahead.lines(), others);
      for (std::int64_t other = 0; other < others; ++other) {
        multiply(own, i, other);
        ahead.advance(lines);
      }
    });
  }

  // The rows and columns that a panel has.
  std::int64_t rows_of(std::int64_t panel) const { return std::min(kInt8Rows, m_ - panel * kInt8Rows); }
  std::int64_t columns_of(std::int64_t panel) const { return std::min(kInt8Columns, n_ - panel * kInt8Columns); }
  const float* row(std::int64_t panel) const { return a_ + panel * kInt8Rows * lda_; }
  const float* column(std::int64_t panel) const { return b_.data + panel * kInt8Columns * (b_.transposed ? b_.ld : 1); }

  void pack_rows(const Int8RowPanel& to, std::int64_t i) const { unit_.pack_rows(to, row(i), lda_, rows_of(i), k_); }
  void pack_columns(const Int8ColumnPanel& to, std::int64_t j) const {
    unit_.pack_columns(to, {column(j), b_.ld, b_.transposed}, columns_of(j), k_);
  }

  const Int8Unit& unit_;
  const float* a_;
  std::int64_t lda_;
  MatrixView<float> b_;
  std::int64_t m_, n_, k_;
};

}  // namespace

const Int8Unit& portable_int8_unit() {
  static constexpr Int8Unit unit{round_rows, round_columns, multiply_panels};
  return unit;
}

void int8_gemm(float* c, std::int64_t ldc, const float* a, std::int64_t lda, MatrixView<float> b, std::int64_t m,
               std::int64_t n, std::int64_t k, float beta) {
  check(k <= kInt8LongestSum, "int8_gemm: k is ", k, ", expected at most ", kInt8LongestSum);
  if (m == 0 || n == 0) return;
  const std::string name =
      is_profiling() ? str_cat("gemm ", m, "x", n, "x", k, b.transposed ? " NT int8" : " NN int8") : std::string();
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const Span span(SpanKind::kernel, name.c_str(), {.flops = flops});
  const Int8Unit& unit = uses_avx512_vnni() ? *avx512_int8_unit() : portable_int8_unit();
  Int8Product(unit, a, lda, b, m, n, k).write(c, ldc, beta);
}

}  // namespace tapeformer::kernels
