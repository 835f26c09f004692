// Root-mean-square normalisation over the last axis (Zhang & Sennrich 2019): y = γ·x/√(mean x² + ε).
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

// x, y (rows, cols); gamma (cols); rstd (rows), 1/√(mean x² + ε), is kept for backward.
template <class T>
void rms_norm_forward(T* y, T* rstd, const T* x, const T* gamma, std::int64_t rows, std::int64_t cols, T eps);

// forward's y again, bit for bit, from the rstd that it kept.
template <class T>
void rms_norm_recompute(T* y, const T* x, const T* rstd, const T* gamma, std::int64_t rows, std::int64_t cols);

// With x̂ = x·rstd and g = dy·γ:
//   dx = dx_beta·dx + rstd·(g − x̂·mean(g·x̂));   dgamma = dgamma_beta·dgamma + Σ_rows dy·x̂
// dx and dgamma may be null: not wanted. Row sums go to per-chunk partials added in order.
template <class T>
void rms_norm_backward(T* dx, T dx_beta, T* dgamma, T dgamma_beta, const T* dy, const T* x, const T* rstd,
                       const T* gamma, std::int64_t rows, std::int64_t cols);

}  // namespace tapeformer::kernels
