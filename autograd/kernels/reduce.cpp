#include "autograd/kernels/reduce.h"

#include <limits>

#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/scratch.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// out (cols) = beta·out + Σ of the rows of x (rows, cols), which begin `stride` elements apart.
template <class T>
void sum_rows(T* out, const T* x, std::int64_t rows, std::int64_t cols, std::int64_t stride, T beta) {
  if (cols == 1 && stride == 1) {
    const hn::ScalableTag<T> d;
    const auto add = [&](std::int64_t i, auto& sums)
                         SIMD_LAMBDA { sums[0] = hn::Add(sums[0], load(d, x + i, rows - i)); };
    const T sum = static_cast<T>(sum_vectors<1>(d, rows, add)[0]);
    *out = beta == T{0} ? sum : beta * *out + sum;
    return;
  }
  if (rows == 0) map(out, beta, cols, [](auto d) SIMD_LAMBDA { return hn::Zero(d); });
  std::int64_t row = 0;
  // Four rows at a time: out is then read and written a quarter as often.
  for (; row + 4 <= rows; row += 4, x += 4 * stride, beta = 1) {
    const auto sum = [](auto, auto a, auto b, auto c, auto e)
                         SIMD_LAMBDA { return hn::Add(hn::Add(a, b), hn::Add(c, e)); };
    map(out, beta, cols, sum, x, x + stride, x + 2 * stride, x + 3 * stride);
  }
  const auto itself = [](auto, auto a) SIMD_LAMBDA { return a; };
  for (; row < rows; ++row, x += stride, beta = 1) map(out, beta, cols, itself, x);
}

// Replaces the best value of a lane by a greater one, or by the first NaN.
template <class D, class V, class VI>
HWY_INLINE void keep_greater(D, V& best, VI& best_index, V value, VI index) {
  const auto nan_found = hn::AndNot(hn::IsNaN(best), hn::IsNaN(value));
  const auto better = hn::Or(hn::Gt(value, best), nan_found);
  best = hn::IfThenElse(better, value, best);
  best_index = hn::IfThenElse(hn::RebindMask(hn::RebindToSigned<D>(), better), index, best_index);
}

// Each lane is a column.
template <class T>
void max_of_columns(T* out, std::int32_t* argmax, const T* x, std::int64_t rows, std::int64_t cols,
                    std::int64_t stride) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  HWY_ALIGN hn::TFromD<decltype(di)> indices[hn::MaxLanes(di)];
  for (std::int64_t j = 0; j < cols; j += lanes(d)) {
    auto best = load(d, x + j, cols - j);
    auto best_row = hn::Zero(di);
    for (std::int64_t row = 1; row < rows; ++row) {
      keep_greater(d, best, best_row, load(d, x + row * stride + j, cols - j), hn::Set(di, row));
    }
    store(d, best, out + j, cols - j);
    hn::Store(best_row, di, indices);
    std::copy(indices, indices + std::min(lanes(d), cols - j), argmax + j);
  }
}

// Each lane goes through every n-th element of one row, n being the number of lanes.
template <class T>
void max_of_row(T* out, std::int32_t* argmax, const T* x, std::int64_t n) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  auto best = load(d, x, n, -kInfinity);
  auto best_index = hn::Iota(di, 0);
  for (std::int64_t i = lanes(d); i < n; i += lanes(d)) {
    keep_greater(d, best, best_index, load(d, x + i, n - i, -kInfinity), hn::Iota(di, i));
  }
  HWY_ALIGN T values[hn::MaxLanes(d)];
  HWY_ALIGN hn::TFromD<decltype(di)> indices[hn::MaxLanes(di)];
  hn::Store(best, d, values);
  hn::Store(best_index, di, indices);
  const auto before = [&](std::int64_t a, std::int64_t b) {
    const bool a_nan = values[a] != values[a], b_nan = values[b] != values[b];
    if (a_nan != b_nan) return a_nan;
    if (!a_nan && values[a] != values[b]) return values[a] > values[b];
    return indices[a] < indices[b];
  };
  std::int64_t first = 0;
  for (std::int64_t lane = 1; lane < lanes(d); ++lane) first = before(lane, first) ? lane : first;
  *out = values[first];
  *argmax = static_cast<std::int32_t>(indices[first]);
}

// Reads four places in turn: the memory is faster with several streams than with one.
template <class T>
double sum_of_squares(const T* x, std::int64_t n) {
  const hn::ScalableTag<double> d;
  const auto add = [&](std::int64_t i, std::int64_t left, auto& sum) SIMD_LAMBDA {
    const auto value = [&]() SIMD_LAMBDA {
      if constexpr (sizeof(T) == 4)
        return hn::PromoteTo(d, load(hn::Rebind<T, decltype(d)>(), x + i, left));
      else
        return load(d, x + i, left);
    }();
    sum = hn::MulAdd(value, value, sum);
  };
  const std::int64_t quarter = n / 4 / lanes(d) * lanes(d);
  const auto four = sum_vectors<4>(d, quarter, [&](std::int64_t i, auto& sums) SIMD_LAMBDA {
    for (int k = 0; k < 4; ++k) add(k * quarter + i, quarter - i, sums[k]);
  });
  const std::int64_t rest = 4 * quarter;
  const auto last = sum_vectors<1>(
      d, n - rest, [&](std::int64_t i, auto& sums) SIMD_LAMBDA { add(rest + i, n - rest - i, sums[0]); });
  return (four[0] + four[1]) + (four[2] + four[3]) + last[0];
}

SIMD_FLOATS(sum_rows);
SIMD_FLOATS(max_of_columns);
SIMD_FLOATS(max_of_row);
SIMD_FLOATS(sum_of_squares);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {
namespace {

// The most columns of one task: its row of sums stays in the L1 cache.
constexpr std::int64_t kWide = 4096;

// How many rows are summed into one partial sum: enough to be worth a task, and few enough that rounding errors stay
// small. Contiguous elements (width 1) are summed in blocks anyway.
std::int64_t rows_per_piece(std::int64_t width) {
  return width == 1 ? 4 * kGrain : std::clamp<std::int64_t>(4 * kGrain / width, 16, 256);
}

}  // namespace

SIMD_EXPORT(sum_rows);

template <class T>
void sum_partials(T* out, const T* partials, std::int64_t count, std::int64_t cols, T beta) {
  SIMD_CALL(sum_rows, T)(out, partials, count, cols, cols, beta);
}
SIMD_INSTANTIATE(sum_partials);

// The middle axis is cut into pieces of a fixed length. Each is summed into a partial sum, and these are summed then.
template <class T>
void sum_axis(T* out, const T* x, std::int64_t outer, std::int64_t middle, std::int64_t inner, T beta) {
  const Span span(SpanKind::kernel, "sum_axis", {.bytes = 1.0 * sizeof(T) * outer * middle * inner});
  const std::int64_t width = std::clamp<std::int64_t>(inner, 1, kWide), bands = chunk_count(inner, width);
  const std::int64_t length = rows_per_piece(width), pieces = std::max<std::int64_t>(1, chunk_count(middle, length));
  const auto sum = [&](T* to, T to_beta) {
    parallel_for(0, outer * pieces * bands, rows_per_chunk(std::min(middle, length) * width), [&](auto task, auto end) {
      for (; task < end; ++task) {
        const std::int64_t column = task % bands * width, part = task / bands, row = part % pieces * length;
        SIMD_CALL(sum_rows, T)
        (to + part * inner + column, x + (part / pieces * middle + row) * inner + column,
         std::min(length, middle - row), std::min(width, inner - column), inner, to_beta);
      }
    });
  };
  if (pieces == 1) return sum(out, beta);
  const Scratch<T> scratch(outer * pieces * inner);
  T* const partials = scratch.data();
  sum(partials, T{0});
  parallel_for(0, outer, rows_per_chunk(pieces * inner), [&](auto i, auto end) {
    for (; i < end; ++i) sum_partials(out + i * inner, partials + i * pieces * inner, pieces, inner, beta);
  });
}
SIMD_INSTANTIATE(sum_axis);

SIMD_EXPORT(max_of_columns);
SIMD_EXPORT(max_of_row);
template <class T>
void max_middle(T* out, std::int32_t* argmax, const T* x, std::int64_t outer, std::int64_t middle, std::int64_t inner) {
  const Span span(SpanKind::kernel, "max_middle", {.bytes = 1.0 * sizeof(T) * outer * middle * inner});
  const std::int64_t width = std::clamp<std::int64_t>(inner, 1, kWide), bands = chunk_count(inner, width);
  parallel_for(0, outer * bands, rows_per_chunk(middle * width), [&](auto task, auto end) {
    for (; task < end; ++task) {
      const std::int64_t column = task % bands * width, to = task / bands * inner + column;
      const T* const from = x + task / bands * middle * inner + column;
      if (inner == 1) {
        SIMD_CALL(max_of_row, T)(out + to, argmax + to, from, middle);
      } else {
        SIMD_CALL(max_of_columns, T)(out + to, argmax + to, from, middle, std::min(width, inner - column), inner);
      }
    }
  });
}
SIMD_INSTANTIATE(max_middle);

template <class T>
void max_middle_backward(T* dx, const T* dy, const std::int32_t* argmax, std::int64_t outer, std::int64_t middle,
                         std::int64_t inner, T beta) {
  const Span span(SpanKind::kernel, "max_middle_backward", {.bytes = 1.0 * sizeof(T) * outer * middle * inner});
  begin_sum(dx, beta, outer * middle * inner);
  parallel_for(0, outer, rows_per_chunk(middle * inner), [&](auto i, auto end) {
    for (; i < end; ++i) {
      for (std::int64_t j = 0; j < inner; ++j) {
        dx[(i * middle + argmax[i * inner + j]) * inner + j] += dy[i * inner + j];
      }
    }
  });
}
SIMD_INSTANTIATE(max_middle_backward);

SIMD_EXPORT(sum_of_squares);
template <class T>
double sum_of_squares(const T* x, std::int64_t n) {
  const Span span(SpanKind::kernel, "sum_of_squares", {.bytes = 1.0 * sizeof(T) * n});
  const std::int64_t chunks = chunk_count(n, kGrain);
  const Scratch<double> scratch(chunks);
  double* const partials = scratch.data();
  parallel_chunks(
      n, kGrain, [&](auto chunk, auto i, auto end) { partials[chunk] = SIMD_CALL(sum_of_squares, T)(x + i, end - i); });
  double total = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) total += partials[chunk];
  return total;
}
SIMD_INSTANTIATE(sum_of_squares);

}  // namespace tapeformer::kernels
#endif
