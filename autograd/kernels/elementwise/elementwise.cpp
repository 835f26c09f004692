#include "autograd/kernels/elementwise/elementwise.h"

#include "autograd/kernels/simd/simd-inl.h"
#include "autograd/kernels/simd/vector_math-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

template <class T>
void fill(T* out, T value, std::int64_t n) {
  const hn::ScalableTag<T> d;
  for (std::int64_t i = 0; i < n; i += lanes(d)) store(d, hn::Set(d, value), out + i, n - i);
}

template <class T>
void axpby(T* out, T alpha, const T* x, T beta, std::int64_t n) {
  map(
      out, beta, n, [alpha](auto d, auto x) SIMD_LAMBDA { return hn::Mul(hn::Set(d, alpha), x); }, x);
}
template <class T>
void add_scalar(T* out, const T* x, T value, std::int64_t n) {
  map(
      out, T{0}, n, [value](auto d, auto x) SIMD_LAMBDA { return hn::Add(x, hn::Set(d, value)); }, x);
}

template <class T>
void add(T* out, const T* a, const T* b, std::int64_t n) {
  map(
      out, T{0}, n, [](auto, auto a, auto b) SIMD_LAMBDA { return hn::Add(a, b); }, a, b);
}
template <class T>
void sub(T* out, const T* a, const T* b, std::int64_t n) {
  map(
      out, T{0}, n, [](auto, auto a, auto b) SIMD_LAMBDA { return hn::Sub(a, b); }, a, b);
}
template <class T>
void mul(T* out, const T* a, const T* b, T beta, std::int64_t n) {
  map(
      out, beta, n, [](auto, auto a, auto b) SIMD_LAMBDA { return hn::Mul(a, b); }, a, b);
}
template <class T>
void div(T* out, const T* a, const T* b, T beta, std::int64_t n) {
  map(
      out, beta, n, [](auto, auto a, auto b) SIMD_LAMBDA { return hn::Div(a, b); }, a, b);
}

template <class T>
void exp_forward(T* y, const T* x, std::int64_t n) {
  map(
      y, T{0}, n, [](auto d, auto x) SIMD_LAMBDA { return exp(d, x); }, x);
}
template <class T>
void log_forward(T* y, const T* x, std::int64_t n) {
  map(
      y, T{0}, n, [](auto d, auto x) SIMD_LAMBDA { return log(d, x); }, x);
}
template <class T>
void sqrt_forward(T* y, const T* x, std::int64_t n) {
  map(
      y, T{0}, n, [](auto, auto x) SIMD_LAMBDA { return hn::Sqrt(x); }, x);
}

template <class T>
void add_bias(T* x, const T* bias, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t row = 0; row < rows; ++row) add(x + row * cols, x + row * cols, bias, cols);
}

SIMD_FLOATS(fill);
static constexpr auto& fill_i32 = fill<std::int32_t>;
SIMD_FLOATS(axpby);
SIMD_FLOATS(add_scalar);
SIMD_FLOATS(add);
SIMD_FLOATS(sub);
SIMD_FLOATS(mul);
SIMD_FLOATS(div);
SIMD_FLOATS(exp_forward);
SIMD_FLOATS(log_forward);
SIMD_FLOATS(sqrt_forward);
SIMD_FLOATS(add_bias);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(fill);
HWY_EXPORT(fill_i32);
template <class T>
void fill(T* out, T value, std::int64_t n) {
  const Span span(SpanKind::kernel, "fill", {.bytes = 1.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(fill, T)(out + i, value, end - i); });
}
SIMD_INSTANTIATE(fill);
template <>
void fill(std::int32_t* out, std::int32_t value, std::int64_t n) {
  const Span span(SpanKind::kernel, "fill", {.bytes = 4.0 * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { HWY_DYNAMIC_DISPATCH(fill_i32)(out + i, value, end - i); });
}

template <class T>
void begin_sum(T* out, T beta, std::int64_t n) {
  if (beta == T{0}) return fill(out, T{0}, n);
  if (beta == T{1}) return;
  parallel_for(0, n, kGrain, [&](auto i, auto end) {
    for (; i < end; ++i) out[i] *= beta;
  });
}
SIMD_INSTANTIATE(begin_sum);

SIMD_EXPORT(axpby);
template <class T>
void axpby(T* out, T alpha, const T* x, T beta, std::int64_t n) {
  const Span span(SpanKind::kernel, "axpby", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(axpby, T)(out + i, alpha, x + i, beta, end - i); });
}
SIMD_INSTANTIATE(axpby);

SIMD_EXPORT(add_scalar);
template <class T>
void add_scalar(T* out, const T* x, T value, std::int64_t n) {
  const Span span(SpanKind::kernel, "add_scalar", {.bytes = 2.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(add_scalar, T)(out + i, x + i, value, end - i); });
}
SIMD_INSTANTIATE(add_scalar);

SIMD_EXPORT(add);
template <class T>
void add(T* out, const T* a, const T* b, std::int64_t n) {
  const Span span(SpanKind::kernel, "add", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(add, T)(out + i, a + i, b + i, end - i); });
}
SIMD_INSTANTIATE(add);

SIMD_EXPORT(sub);
template <class T>
void sub(T* out, const T* a, const T* b, std::int64_t n) {
  const Span span(SpanKind::kernel, "sub", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(sub, T)(out + i, a + i, b + i, end - i); });
}
SIMD_INSTANTIATE(sub);

SIMD_EXPORT(mul);
template <class T>
void mul(T* out, const T* a, const T* b, T beta, std::int64_t n) {
  const Span span(SpanKind::kernel, "mul", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(mul, T)(out + i, a + i, b + i, beta, end - i); });
}
SIMD_INSTANTIATE(mul);

SIMD_EXPORT(div);
template <class T>
void div(T* out, const T* a, const T* b, T beta, std::int64_t n) {
  const Span span(SpanKind::kernel, "div", {.bytes = 3.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(div, T)(out + i, a + i, b + i, beta, end - i); });
}
SIMD_INSTANTIATE(div);

SIMD_EXPORT(exp_forward);
template <class T>
void exp_forward(T* y, const T* x, std::int64_t n) {
  const Span span(SpanKind::kernel, "exp_forward", {.bytes = 2.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(exp_forward, T)(y + i, x + i, end - i); });
}
SIMD_INSTANTIATE(exp_forward);

SIMD_EXPORT(log_forward);
template <class T>
void log_forward(T* y, const T* x, std::int64_t n) {
  const Span span(SpanKind::kernel, "log_forward", {.bytes = 2.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(log_forward, T)(y + i, x + i, end - i); });
}
SIMD_INSTANTIATE(log_forward);

SIMD_EXPORT(sqrt_forward);
template <class T>
void sqrt_forward(T* y, const T* x, std::int64_t n) {
  const Span span(SpanKind::kernel, "sqrt_forward", {.bytes = 2.0 * sizeof(T) * n});
  parallel_for(0, n, kGrain, [&](auto i, auto end) { SIMD_CALL(sqrt_forward, T)(y + i, x + i, end - i); });
}
SIMD_INSTANTIATE(sqrt_forward);

SIMD_EXPORT(add_bias);
template <class T>
void add_bias(T* x, const T* bias, std::int64_t rows, std::int64_t cols) {
  const Span span(SpanKind::kernel, "add_bias", {.bytes = 2.0 * sizeof(T) * rows * cols});
  parallel_for(0, rows, rows_per_chunk(cols), [&](auto row, auto end) {
    SIMD_CALL(add_bias, T)(x + row * cols, bias, end - row, cols);
  });
}
SIMD_INSTANTIATE(add_bias);

}  // namespace tapeformer::kernels
#endif
