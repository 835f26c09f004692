#include "autograd/kernels/rows/softmax.h"

#include <cmath>

#include "autograd/kernels/rows/softmax-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

template <class T>
void softmax_forward(T* y, const T* x, std::int64_t rows, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  for (std::int64_t row = 0; row < rows; ++row, y += cols, x += cols) {
    const double sum = sum_of_exp(x, shift_of_row(x, cols), cols,
                                  [&](std::int64_t j, auto e) SIMD_LAMBDA { store(d, e, y + j, cols - j); });
    const T factor = static_cast<T>(sum == 0 ? 0 : 1 / sum);
    map(
        y, T{0}, cols, [factor](auto d, auto e) SIMD_LAMBDA { return hn::Mul(e, hn::Set(d, factor)); }, y);
  }
}

template <class T>
void softmax_backward(T* dx, const T* dy, const T* y, std::int64_t rows, std::int64_t cols, T beta) {
  const hn::ScalableTag<T> d;
  for (std::int64_t row = 0; row < rows; ++row, dx += cols, dy += cols, y += cols) {
    const auto add = [&](std::int64_t j, auto& sums) SIMD_LAMBDA {
      sums[0] = hn::MulAdd(load(d, dy + j, cols - j), load(d, y + j, cols - j), sums[0]);
    };
    const T dot = static_cast<T>(sum_vectors<1>(d, cols, add)[0]);
    const auto gradient = [dot](auto d, auto dy, auto y)
                              SIMD_LAMBDA { return hn::Mul(y, hn::Sub(dy, hn::Set(d, dot))); };
    map(dx, beta, cols, gradient, dy, y);
  }
}

template <class T>
void log_softmax_forward(T* y, const T* x, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t row = 0; row < rows; ++row, y += cols, x += cols) {
    const T shift = shift_of_row(x, cols);
    const double sum = sum_of_exp(x, shift, cols);
    const T log_sum = static_cast<T>(sum == 0 ? 0 : std::log(sum));
    const auto log_softmax = [shift, log_sum](auto d, auto x)
                                 SIMD_LAMBDA { return hn::Sub(hn::Sub(x, hn::Set(d, shift)), hn::Set(d, log_sum)); };
    map(y, T{0}, cols, log_softmax, x);
  }
}

template <class T>
void log_softmax_backward(T* dx, const T* dy, const T* y, std::int64_t rows, std::int64_t cols, T beta) {
  const hn::ScalableTag<T> d;
  for (std::int64_t row = 0; row < rows; ++row, dx += cols, dy += cols, y += cols) {
    const auto add = [&](std::int64_t j, auto& sums)
                         SIMD_LAMBDA { sums[0] = hn::Add(sums[0], load(d, dy + j, cols - j)); };
    const T sum = static_cast<T>(sum_vectors<1>(d, cols, add)[0]);
    const auto gradient = [sum](auto d, auto dy, auto y)
                              SIMD_LAMBDA { return hn::NegMulAdd(exp(d, y), hn::Set(d, sum), dy); };
    map(dx, beta, cols, gradient, dy, y);
  }
}

SIMD_FLOATS(softmax_forward);
SIMD_FLOATS(softmax_backward);
SIMD_FLOATS(log_softmax_forward);
SIMD_FLOATS(log_softmax_backward);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

#define TAPEFORMER_FORWARD(name)                                                        \
  SIMD_EXPORT(name);                                                                    \
  template <class T>                                                                    \
  void name(T* y, const T* x, std::int64_t rows, std::int64_t cols) {                   \
    const Span span(SpanKind::kernel, #name, {.bytes = 2.0 * sizeof(T) * rows * cols}); \
    parallel_for(0, rows, rows_per_chunk(cols), [&](auto row, auto end) {               \
      SIMD_CALL(name, T)(y + row * cols, x + row * cols, end - row, cols);              \
    });                                                                                 \
  }                                                                                     \
  SIMD_INSTANTIATE(name)
#define TAPEFORMER_BACKWARD(name)                                                           \
  SIMD_EXPORT(name);                                                                        \
  template <class T>                                                                        \
  void name(T* dx, const T* dy, const T* y, std::int64_t rows, std::int64_t cols, T beta) { \
    const Span span(SpanKind::kernel, #name, {.bytes = 3.0 * sizeof(T) * rows * cols});     \
    parallel_for(0, rows, rows_per_chunk(cols), [&](auto row, auto end) {                   \
      const auto at = row * cols;                                                           \
      SIMD_CALL(name, T)(dx + at, dy + at, y + at, end - row, cols, beta);                  \
    });                                                                                     \
  }                                                                                         \
  SIMD_INSTANTIATE(name)

TAPEFORMER_FORWARD(softmax_forward);
TAPEFORMER_BACKWARD(softmax_backward);
TAPEFORMER_FORWARD(log_softmax_forward);
TAPEFORMER_BACKWARD(log_softmax_backward);

}  // namespace tapeformer::kernels
#endif
