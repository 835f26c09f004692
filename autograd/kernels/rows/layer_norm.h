// Layer normalisation over the last axis (Ba et al. 2016): y = γ·(x − μ)/√(σ² + ε) + β, with the biased variance, in
// two passes.
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

// x, y (rows, cols); gamma, beta (cols); beta may be null (0); mean, rstd (rows) are kept for backward.
template <class T>
void layer_norm_forward(T* y, T* mean, T* rstd, const T* x, const T* gamma, const T* beta, std::int64_t rows,
                        std::int64_t cols, T eps);

// forward's y again, bit for bit, from the mean and rstd that it kept.
template <class T>
void layer_norm_recompute(T* y, const T* x, const T* mean, const T* rstd, const T* gamma, const T* beta,
                          std::int64_t rows, std::int64_t cols);

// With x̂ = (x − μ)·rstd and g = dy·γ:
//   dx = dx_beta·dx + rstd·(g − mean(g) − x̂·mean(g·x̂))
//   dgamma = dgamma_beta·dgamma + Σ_rows dy·x̂;   dbeta = dbeta_beta·dbeta + Σ_rows dy
// A null dx, dgamma or dbeta is not computed. Row sums go to partials per chunk, which are added in order.
template <class T>
void layer_norm_backward(T* dx, T dx_beta, T* dgamma, T dgamma_beta, T* dbeta, T dbeta_beta, const T* dy, const T* x,
                         const T* mean, const T* rstd, const T* gamma, std::int64_t rows, std::int64_t cols);

}  // namespace tapeformer::kernels
