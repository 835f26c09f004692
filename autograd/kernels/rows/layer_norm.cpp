#include "autograd/kernels/rows/layer_norm.h"

#include <cmath>

#include "autograd/kernels/reduce.h"
#include "autograd/kernels/scratch.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// One row of y.
template <class T>
HWY_INLINE void normalise_row(T* y, const T* x, T mean, T rstd, const T* gamma, const T* beta, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  for (std::int64_t j = 0; j < cols; j += lanes(d)) {
    const auto x_hat = hn::Mul(hn::Sub(load(d, x + j, cols - j), hn::Set(d, mean)), hn::Set(d, rstd));
    const auto weight = load(d, gamma + j, cols - j);
    store(d, beta ? hn::MulAdd(x_hat, weight, load(d, beta + j, cols - j)) : hn::Mul(x_hat, weight), y + j, cols - j);
  }
}

template <class T>
void layer_norm_forward(T* y, T* mean, T* rstd, const T* x, const T* gamma, const T* beta, std::int64_t rows,
                        std::int64_t cols, T eps) {
  const hn::ScalableTag<T> d;
  for (std::int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
    const auto add = [&](std::int64_t j, auto& sums)
                         SIMD_LAMBDA { sums[0] = hn::Add(sums[0], load(d, x + j, cols - j)); };
    const T mu = static_cast<T>(sum_vectors<1>(d, cols, add)[0] / cols);
    const auto add_square = [&](std::int64_t j, auto& sums) SIMD_LAMBDA {
      const auto off = hn::Sub(load(d, x + j, cols - j, mu), hn::Set(d, mu));
      sums[0] = hn::MulAdd(off, off, sums[0]);
    };
    const double variance = sum_vectors<1>(d, cols, add_square)[0] / cols;
    mean[row] = mu;
    rstd[row] = static_cast<T>(1 / std::sqrt(variance + eps));
    normalise_row(y, x, mu, rstd[row], gamma, beta, cols);
  }
}

template <class T>
void layer_norm_recompute(T* y, const T* x, const T* mean, const T* rstd, const T* gamma, const T* beta,
                          std::int64_t rows, std::int64_t cols) {
  for (std::int64_t row = 0; row < rows; ++row) {
    normalise_row(y + row * cols, x + row * cols, mean[row], rstd[row], gamma, beta, cols);
  }
}

// dgamma and dbeta are overwritten with the partial sums of these rows.
template <class T>
void layer_norm_backward(T* dx, T dx_beta, T* dgamma, T* dbeta, const T* dy, const T* x, const T* mean, const T* rstd,
                         const T* gamma, std::int64_t rows, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  if (dgamma) std::fill(dgamma, dgamma + cols, T{0});
  if (dbeta) std::fill(dbeta, dbeta + cols, T{0});
  for (std::int64_t row = 0; row < rows; ++row, dy += cols, x += cols) {
    const auto mu = hn::Set(d, mean[row]), scale = hn::Set(d, rstd[row]);
    const auto normalised = [&](std::int64_t j)
                                SIMD_LAMBDA { return hn::Mul(hn::Sub(load(d, x + j, cols - j), mu), scale); };
    const auto dnormalised = [&](std::int64_t j) SIMD_LAMBDA {
      return hn::Mul(load(d, dy + j, cols - j), load(d, gamma + j, cols - j));
    };
    const auto add = [&](std::int64_t j, auto& sums) SIMD_LAMBDA {
      const auto g = dnormalised(j), x_hat = normalised(j);
      sums[0] = hn::Add(sums[0], g);
      sums[1] = hn::MulAdd(g, x_hat, sums[1]);
      const auto dy_j = load(d, dy + j, cols - j);
      if (dgamma) store(d, hn::MulAdd(dy_j, x_hat, load(d, dgamma + j, cols - j)), dgamma + j, cols - j);
      if (dbeta) store(d, hn::Add(dy_j, load(d, dbeta + j, cols - j)), dbeta + j, cols - j);
    };
    const auto [sum, sum_x_hat] = sum_vectors<2>(d, cols, add);
    if (!dx) continue;
    const auto mean_g = hn::Set(d, static_cast<T>(sum / cols)), mean_gx = hn::Set(d, static_cast<T>(sum_x_hat / cols));
    for (std::int64_t j = 0; j < cols; j += lanes(d)) {
      auto out = hn::Mul(hn::NegMulAdd(normalised(j), mean_gx, hn::Sub(dnormalised(j), mean_g)), scale);
      if (dx_beta != T{0}) out = hn::MulAdd(hn::Set(d, dx_beta), load(d, dx + j, cols - j), out);
      store(d, out, dx + j, cols - j);
    }
    dx += cols;
  }
}

SIMD_FLOATS(layer_norm_forward);
SIMD_FLOATS(layer_norm_recompute);
SIMD_FLOATS(layer_norm_backward);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(layer_norm_forward);
template <class T>
void layer_norm_forward(T* y, T* mean, T* rstd, const T* x, const T* gamma, const T* beta, std::int64_t rows,
                        std::int64_t cols, T eps) {
  const Span span(SpanKind::kernel, "layer_norm_forward", {.bytes = 2.0 * sizeof(T) * rows * cols});
  parallel_for(0, rows, rows_per_chunk(cols), [&](auto row, auto end) {
    SIMD_CALL(layer_norm_forward, T)
    (y + row * cols, mean + row, rstd + row, x + row * cols, gamma, beta, end - row, cols, eps);
  });
}
SIMD_INSTANTIATE(layer_norm_forward);

SIMD_EXPORT(layer_norm_recompute);
template <class T>
void layer_norm_recompute(T* y, const T* x, const T* mean, const T* rstd, const T* gamma, const T* beta,
                          std::int64_t rows, std::int64_t cols) {
  const Span span(SpanKind::kernel, "layer_norm_recompute", {.bytes = 2.0 * sizeof(T) * rows * cols});
  parallel_for(0, rows, rows_per_chunk(cols), [&](auto row, auto end) {
    SIMD_CALL(layer_norm_recompute, T)
    (y + row * cols, x + row * cols, mean + row, rstd + row, gamma, beta, end - row, cols);
  });
}
SIMD_INSTANTIATE(layer_norm_recompute);

SIMD_EXPORT(layer_norm_backward);
template <class T>
void layer_norm_backward(T* dx, T dx_beta, T* dgamma, T dgamma_beta, T* dbeta, T dbeta_beta, const T* dy, const T* x,
                         const T* mean, const T* rstd, const T* gamma, std::int64_t rows, std::int64_t cols) {
  const Span span(SpanKind::kernel, "layer_norm_backward", {.bytes = 3.0 * sizeof(T) * rows * cols});
  const std::int64_t chunk_rows = rows_per_chunk(cols), chunks = chunk_count(rows, chunk_rows);
  const Scratch<T> partials(2 * chunks * cols);
  T* const dgamma_partials = partials.data();
  T* const dbeta_partials = dgamma_partials + chunks * cols;
  parallel_chunks(rows, chunk_rows, [&](auto chunk, auto row, auto end) {
    const auto at = row * cols, partial = chunk * cols;
    SIMD_CALL(layer_norm_backward, T)
    (dx ? dx + at : nullptr, dx_beta, dgamma ? dgamma_partials + partial : nullptr,
     dbeta ? dbeta_partials + partial : nullptr, dy + at, x + at, mean + row, rstd + row, gamma, end - row, cols);
  });
  if (dgamma) sum_partials(dgamma, dgamma_partials, chunks, cols, dgamma_beta);
  if (dbeta) sum_partials(dbeta, dbeta_partials, chunks, cols, dbeta_beta);
}
SIMD_INSTANTIATE(layer_norm_backward);

}  // namespace tapeformer::kernels
#endif
