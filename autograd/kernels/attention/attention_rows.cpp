#include "autograd/kernels/attention/attention_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/kernels/elementwise/dropout.h"
#include "autograd/kernels/rows/softmax-inl.h"
#include "autograd/kernels/simd/philox-inl.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "autograd/kernels/simd/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {
namespace {

// Vectors of at most a cache line, which rows have room for.
template <class T>
using RowTag = hn::CappedTag<T, 64 / sizeof(T)>;

// A row sees the keys begin to end − 1, which lie in the whole vectors from first to last − 1. All are 0 if it sees
// none.
struct Seen {
  std::int64_t begin = 0, end = 0, first = 0, last = 0;
};
template <class T>
HWY_INLINE Seen seen_of_row(const ScoreBlock& block, std::int64_t row) {
  const std::int64_t begin = block.hidden(row), end = block.visible(row), step = lanes(RowTag<T>());
  if (begin == end) return {};
  return {begin, end, begin / step * step, (end + step - 1) / step * step};
}

// Fills the masked elements of a row: with `before` and `after` in the vectors that also hold seen elements, and with 0
// in all others. It works on whole vectors, since a loop over a few elements of each row ends unpredictably.
template <class T>
HWY_INLINE void mask_row(T* row, const Seen& seen, std::int64_t cols, T before, T after) {
  const RowTag<T> d;
  const std::int64_t step = lanes(d);
  for (std::int64_t j = 0; j < seen.first; j += step) hn::Store(hn::Zero(d), d, row + j);
  if (seen.first < seen.begin) {
    T* const at = row + seen.first;
    const auto masked = hn::FirstN(d, seen.begin - seen.first);
    hn::Store(hn::IfThenElse(masked, hn::Set(d, before), hn::Load(d, at)), d, at);
  }
  if (seen.end < seen.last) {
    T* const at = row + seen.last - step;
    hn::Store(hn::IfThenElse(hn::FirstN(d, seen.end - (seen.last - step)), hn::Load(d, at), hn::Set(d, after)), d, at);
  }
  for (std::int64_t j = seen.last; j < cols; j += step) hn::Store(hn::Zero(d), d, row + j);
}

template <class D>
auto load_words(D d, const std::uint32_t* words) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(*words)) {
    return hn::LoadU(d, words);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint32_t, D>(), words));
  }
}

// row[j] = row[j]·factor where word j is at least the threshold, else 0, for whole vectors.
template <class T>
void drop(T* row, const std::uint32_t* words, std::uint32_t threshold, T factor, std::int64_t n) {
  const RowTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const auto limit = hn::Set(bits, threshold);
  for (std::int64_t j = 0; j < n; j += lanes(d)) {
    const auto dropped = hn::RebindMask(d, hn::Gt(limit, load_words(bits, words + j)));
    hn::Store(hn::IfThenZeroElse(dropped, hn::Mul(hn::Load(d, row + j), hn::Set(d, factor))), d, row + j);
  }
}

// The random words for the vectors of a row that hold seen elements.
const std::uint32_t* draw_row(const ScoreBlock& block, std::int64_t row, const Seen& seen) {
  const std::uint64_t first = block.first_word + row * block.words_per_row + seen.first;
  const std::int64_t skipped = first % 4;
  philox_words(block.words, block.key, first / 4, (skipped + seen.last - seen.first + 3) / 4);
  return block.words + skipped;
}

}  // namespace

template <class T>
void softmax_rows(T* scores, T* log_sum_exp, T* factor, const ScoreBlock& block) {
  // The first loop stores the shifts of the rows in log_sum_exp, the second their sums in factor. In one loop a row
  // would wait for its maximum, and the CPU could not look far enough ahead to begin with the next rows meanwhile.
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const Seen seen = seen_of_row<T>(block, r);
    T* const row = scores + r * block.ld;
    mask_row(row, seen, block.cols, -std::numeric_limits<T>::infinity(), T{0});
    const std::int64_t n = seen.end - seen.first;
    log_sum_exp[r] = n > 0 ? shift_of_row(row + seen.first, n) : T{0};
  }
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const Seen seen = seen_of_row<T>(block, r);
    T* const row = scores + r * block.ld + seen.first;
    const std::int64_t n = seen.end - seen.first;
    const auto keep = [&](std::int64_t j, auto e) SIMD_LAMBDA { store(hn::DFromV<decltype(e)>(), e, row + j, n - j); };
    factor[r] = static_cast<T>(sum_of_exp(row, log_sum_exp[r], n, keep));
    if (block.dropout > 0 && n > 0) {
      drop(row, draw_row(block, r, seen), dropout_threshold(block.dropout), T{1}, n);
    }
  }
  const hn::ScalableTag<T> d;
  const auto kept = hn::Set(d, static_cast<T>(1 - block.dropout));
  for (std::int64_t r = 0; r < block.rows; r += lanes(d)) {
    const std::int64_t left = block.rows - r;
    const auto sum = load(d, factor + r, left);
    store(d, hn::Add(load(d, log_sum_exp + r, left), log(d, sum)), log_sum_exp + r, left);
    const auto none = hn::Eq(sum, hn::Zero(d));
    store(d, hn::IfThenZeroElse(none, hn::Div(hn::Set(d, 1), hn::Mul(sum, kept))), factor + r, left);
  }
}

template <class T>
void gradient_rows(T* scores, T* dweights, const T* log_sum_exp, const T* dots, const ScoreBlock& block) {
  const RowTag<T> d;
  const T inverse_kept = static_cast<T>(1 / (1 - block.dropout));
  const std::uint32_t threshold = dropout_threshold(block.dropout);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    constexpr T kMasked = -std::numeric_limits<T>::infinity();
    const Seen seen = seen_of_row<T>(block, r);
    mask_row(scores + r * block.ld, seen, block.cols, kMasked, kMasked);
    mask_row(dweights + r * block.ld, seen, block.cols, T{0}, T{0});
    T *const row = scores + r * block.ld + seen.first, *const drow = dweights + r * block.ld + seen.first;
    const std::int64_t n = seen.end - seen.first;
    const std::uint32_t* const words = block.dropout > 0 ? draw_row(block, r, seen) : nullptr;
    if (words) drop(drow, words, threshold, inverse_kept, n);
    const auto shift = hn::Set(d, log_sum_exp[r]), dot = hn::Set(d, dots[r]);
    for (std::int64_t j = 0; j < n; j += lanes(d)) {
      const auto p = exp(d, hn::Sub(hn::Load(d, row + j), shift));
      hn::Store(p, d, row + j);
      hn::Store(hn::Mul(p, hn::Sub(hn::Load(d, drow + j), dot)), d, drow + j);
    }
    if (words) drop(row, words, threshold, inverse_kept, n);
  }
}

template <class T>
void scale_rows(T* x, std::int64_t ld, const T* factor, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t r = 0; r < rows; ++r, x += ld) {
    const T by = factor[r];
    map(
        x, T{0}, cols, [by](auto d, auto x) SIMD_LAMBDA { return hn::Mul(x, hn::Set(d, by)); }, x);
  }
}

template <class T>
void dot_rows(T* dots, const T* a, std::int64_t a_ld, const T* b, std::int64_t b_ld, std::int64_t rows,
              std::int64_t cols) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = 0; r < rows; ++r, a += a_ld, b += b_ld) {
    auto sum = hn::Zero(d);
    for (std::int64_t j = 0; j < cols; j += lanes(d)) {
      sum = hn::MulAdd(load(d, a + j, cols - j), load(d, b + j, cols - j), sum);
    }
    dots[r] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

SIMD_FLOATS(softmax_rows);
SIMD_FLOATS(gradient_rows);
SIMD_FLOATS(scale_rows);
SIMD_FLOATS(dot_rows);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(softmax_rows);
SIMD_EXPORT(gradient_rows);
SIMD_EXPORT(scale_rows);
SIMD_EXPORT(dot_rows);

template <class T>
void softmax_rows(T* scores, T* log_sum_exp, T* factor, const ScoreBlock& block) {
  SIMD_CALL(softmax_rows, T)(scores, log_sum_exp, factor, block);
}
template <class T>
void gradient_rows(T* scores, T* dweights, const T* log_sum_exp, const T* dots, const ScoreBlock& block) {
  SIMD_CALL(gradient_rows, T)(scores, dweights, log_sum_exp, dots, block);
}
template <class T>
void scale_rows(T* x, std::int64_t ld, const T* factor, std::int64_t rows, std::int64_t cols) {
  SIMD_CALL(scale_rows, T)(x, ld, factor, rows, cols);
}
template <class T>
void dot_rows(T* dots, const T* a, std::int64_t a_ld, const T* b, std::int64_t b_ld, std::int64_t rows,
              std::int64_t cols) {
  SIMD_CALL(dot_rows, T)(dots, a, a_ld, b, b_ld, rows, cols);
}

SIMD_INSTANTIATE(softmax_rows);
SIMD_INSTANTIATE(gradient_rows);
SIMD_INSTANTIATE(scale_rows);
SIMD_INSTANTIATE(dot_rows);

}  // namespace tapeformer::kernels
#endif
