#include "autograd/kernels/rows/rms_norm.h"

#include <cmath>

#include "autograd/kernels/reduce.h"
#include "autograd/kernels/scratch.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

template <class T>
void rms_norm_recompute(T* y, const T* x, const T* rstd, const T* gamma, std::int64_t rows, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  for (std::int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
    for (std::int64_t j = 0; j < cols; j += lanes(d)) {
      const auto x_hat = hn::Mul(load(d, x + j, cols - j), hn::Set(d, rstd[row]));
      store(d, hn::Mul(x_hat, load(d, gamma + j, cols - j)), y + j, cols - j);
    }
  }
}

template <class T>
void rms_norm_forward(T* y, T* rstd, const T* x, const T* gamma, std::int64_t rows, std::int64_t cols, T eps) {
  const hn::ScalableTag<T> d;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto add_square = [&, from = x + row * cols](std::int64_t j, auto& sums) SIMD_LAMBDA {
      const auto v = load(d, from + j, cols - j);
      sums[0] = hn::MulAdd(v, v, sums[0]);
    };
    rstd[row] = static_cast<T>(1 / std::sqrt(sum_vectors<1>(d, cols, add_square)[0] / cols + eps));
  }
  rms_norm_recompute(y, x, rstd, gamma, rows, cols);
}

// dgamma is the partial of these rows alone: overwritten.
template <class T>
void rms_norm_backward(T* dx, T dx_beta, T* dgamma, const T* dy, const T* x, const T* rstd, const T* gamma,
                       std::int64_t rows, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  if (dgamma) std::fill(dgamma, dgamma + cols, T{0});
  for (std::int64_t row = 0; row < rows; ++row, dy += cols, x += cols) {
    const auto scale = hn::Set(d, rstd[row]);
    const auto normalised = [&](std::int64_t j) SIMD_LAMBDA { return hn::Mul(load(d, x + j, cols - j), scale); };
    const auto dnormalised = [&](std::int64_t j) SIMD_LAMBDA {
      return hn::Mul(load(d, dy + j, cols - j), load(d, gamma + j, cols - j));
    };
    const auto add = [&](std::int64_t j, auto& sums) SIMD_LAMBDA {
      const auto x_hat = normalised(j);
      sums[0] = hn::MulAdd(dnormalised(j), x_hat, sums[0]);
      if (!dgamma) return;
      store(d, hn::MulAdd(load(d, dy + j, cols - j), x_hat, load(d, dgamma + j, cols - j)), dgamma + j, cols - j);
    };
    const auto mean_gx = hn::Set(d, static_cast<T>(sum_vectors<1>(d, cols, add)[0] / cols));
    if (!dx) continue;
    for (std::int64_t j = 0; j < cols; j += lanes(d)) {
      auto out = hn::Mul(hn::NegMulAdd(normalised(j), mean_gx, dnormalised(j)), scale);
      if (dx_beta != T{0}) out = hn::MulAdd(hn::Set(d, dx_beta), load(d, dx + j, cols - j), out);
      store(d, out, dx + j, cols - j);
    }
    dx += cols;
  }
}

SIMD_FLOATS(rms_norm_forward);
SIMD_FLOATS(rms_norm_recompute);
SIMD_FLOATS(rms_norm_backward);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(rms_norm_forward);
template <class T>
void rms_norm_forward(T* y, T* rstd, const T* x, const T* gamma, std::int64_t rows, std::int64_t cols, T eps) {
  const Span span(SpanKind::kernel, "rms_norm_forward", {.bytes = 2.0 * sizeof(T) * rows * cols});
  parallel_for(0, rows, rows_per_chunk(cols), [&](auto row, auto end) {
    SIMD_CALL(rms_norm_forward, T)(y + row * cols, rstd + row, x + row * cols, gamma, end - row, cols, eps);
  });
}
SIMD_INSTANTIATE(rms_norm_forward);

SIMD_EXPORT(rms_norm_recompute);
template <class T>
void rms_norm_recompute(T* y, const T* x, const T* rstd, const T* gamma, std::int64_t rows, std::int64_t cols) {
  const Span span(SpanKind::kernel, "rms_norm_recompute", {.bytes = 2.0 * sizeof(T) * rows * cols});
  parallel_for(0, rows, rows_per_chunk(cols), [&](auto row, auto end) {
    SIMD_CALL(rms_norm_recompute, T)(y + row * cols, x + row * cols, rstd + row, gamma, end - row, cols);
  });
}
SIMD_INSTANTIATE(rms_norm_recompute);

SIMD_EXPORT(rms_norm_backward);
template <class T>
void rms_norm_backward(T* dx, T dx_beta, T* dgamma, T dgamma_beta, const T* dy, const T* x, const T* rstd,
                       const T* gamma, std::int64_t rows, std::int64_t cols) {
  const Span span(SpanKind::kernel, "rms_norm_backward", {.bytes = 3.0 * sizeof(T) * rows * cols});
  const std::int64_t chunk_rows = rows_per_chunk(cols), chunks = chunk_count(rows, chunk_rows);
  const Scratch<T> memory(chunks * cols);
  T* const partials = memory.data();
  parallel_chunks(rows, chunk_rows, [&](auto chunk, auto row, auto end) {
    const auto at = row * cols;
    SIMD_CALL(rms_norm_backward, T)
    (dx ? dx + at : nullptr, dx_beta, dgamma ? partials + chunk * cols : nullptr, dy + at, x + at, rstd + row, gamma,
     end - row, cols);
  });
  if (dgamma) sum_partials(dgamma, partials, chunks, cols, dgamma_beta);
}
SIMD_INSTANTIATE(rms_norm_backward);

}  // namespace tapeformer::kernels
#endif
