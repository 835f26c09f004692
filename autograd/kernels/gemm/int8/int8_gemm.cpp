#include "autograd/kernels/gemm/int8/int8_gemm.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "autograd/kernels/gemm/int8/int8_unit.h"
#include "autograd/kernels/gemm/q8/q8.h"
#include "autograd/kernels/scratch.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

// Bytes of the right operand that are packed at a time: they stay in L3.
constexpr std::int64_t kPackedBytes = 1 << 22;
// A task multiplies so many panels of rows, which stay in L2, by so many panels of columns, each of which stays in L1.
constexpr std::int64_t kTaskRows = 8, kTaskColumns = 8;

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

std::int64_t panels_of(std::int64_t size, std::int64_t panel) { return (size + panel - 1) / panel; }

// All of a and some column panels of b are packed by all threads. Then each task multiplies some panels of both.
class Int8Product {
 public:
  Int8Product(const Int8Unit& unit, const float* a, std::int64_t lda, MatrixView<float> b, std::int64_t m,
              std::int64_t n, std::int64_t k)
      : unit_(unit),
        a_(a),
        lda_(lda),
        b_(b),
        m_(m),
        n_(n),
        k_(k),
        distance_(panels_of(k, kLine) * kLine + kLine),
        at_once_(std::clamp<std::int64_t>(kPackedBytes / (kInt8Columns * std::max<std::int64_t>(1, int8_depth(k))), 1,
                                          panels())),
        rows_(m * distance_),
        row_scales_(m),
        columns_(at_once_ * kInt8Columns * int8_depth(k)),
        column_scales_(at_once_ * kInt8Columns),
        column_sums_(at_once_ * kInt8Columns) {}

  // c (m, n), rows ldc apart = beta·c + a·b
  void write(float* c, std::int64_t ldc, float beta) const {
    for (std::int64_t first = 0; first < panels(); first += at_once_) {
      const std::int64_t end = std::min(panels(), first + at_once_), row_panels_now = first == 0 ? row_panels() : 0;
      parallel_for(0, row_panels_now + end - first, 1, [&](std::int64_t i, std::int64_t) {
        i < row_panels_now ? pack_rows(i) : pack_columns(first + i - row_panels_now);
      });
      multiply(c, ldc, beta, first, end);
    }
  }

 private:
  // Rows a cache line further apart than they are long: else those of many lengths would share places of the cache.
  static constexpr std::int64_t kLine = 64;

  std::int64_t row_panels() const { return panels_of(m_, kInt8Rows); }
  std::int64_t panels() const { return panels_of(n_, kInt8Columns); }
  // The rows and columns that a panel has.
  std::int64_t rows_of(std::int64_t panel) const { return std::min(kInt8Rows, m_ - panel * kInt8Rows); }
  std::int64_t columns_of(std::int64_t panel) const { return std::min(kInt8Columns, n_ - panel * kInt8Columns); }
  Int8RowPanel row_panel(std::int64_t i) const {
    return {rows_.data() + i * kInt8Rows * distance_, distance_, row_scales_.data() + i * kInt8Rows};
  }
  Int8ColumnPanel column_panel(std::int64_t j) const {
    const std::int64_t column = j % at_once_ * kInt8Columns;
    return {columns_.data() + column * int8_depth(k_), column_scales_.data() + column, column_sums_.data() + column};
  }
  void pack_rows(std::int64_t i) const {
    unit_.pack_rows(row_panel(i), a_ + i * kInt8Rows * lda_, lda_, rows_of(i), k_);
  }
  void pack_columns(std::int64_t j) const {
    const std::int64_t column = j * kInt8Columns;
    const PackSource source{b_.data + (b_.transposed ? column * b_.ld : column), b_.ld, b_.transposed};
    unit_.pack_columns(column_panel(j), source, columns_of(j), k_);
  }

  // Multiplies all row panels with the packed column panels `first` to end − 1.
  void multiply(float* c, std::int64_t ldc, float beta, std::int64_t first, std::int64_t end) const {
    const std::int64_t column_tasks = panels_of(end - first, kTaskColumns),
                       row_tasks = panels_of(row_panels(), kTaskRows);
    parallel_for(0, row_tasks * column_tasks, 1, [&](std::int64_t task, std::int64_t) {
      const std::int64_t i_begin = task / column_tasks * kTaskRows,
                         j_begin = first + task % column_tasks * kTaskColumns;
      for (std::int64_t j = j_begin; j < std::min(end, j_begin + kTaskColumns); ++j) {
        for (std::int64_t i = i_begin; i < std::min(row_panels(), i_begin + kTaskRows); ++i) {
          unit_.multiply(c + i * kInt8Rows * ldc + j * kInt8Columns, ldc, row_panel(i), column_panel(j), rows_of(i),
                         columns_of(j), k_, beta);
        }
      }
    });
  }

  const Int8Unit& unit_;
  const float* a_;
  std::int64_t lda_;
  MatrixView<float> b_;
  std::int64_t m_, n_, k_, distance_, at_once_;
  Scratch<std::uint8_t> rows_;
  Scratch<float> row_scales_;
  Scratch<std::int8_t> columns_;
  Scratch<float> column_scales_;
  Scratch<std::int32_t> column_sums_;
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
