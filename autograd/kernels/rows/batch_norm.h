// Batch normalisation over the rows of a matrix (Ioffe & Szegedy 2015): y = γ·(x − μ)/√(σ² + ε) + β, where μ and σ² are
// those of each column.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tapeformer::kernels {

// The rows of a matrix (batches · length, cols). With `lengths` (batches), row t of a batch b is padding from
// lengths[b] on: it has no part in sums, and its results are 0. null, or a length beyond the row: no padding.
struct NormRows {
  std::int64_t batches, length, cols;
  const std::int32_t* lengths = nullptr;

  std::int64_t seen(std::int64_t batch) const {
    return lengths ? std::clamp<std::int64_t>(lengths[batch], 0, length) : length;
  }
  std::int64_t count() const;  // the number of rows that are no padding
};

// mean, variance (cols) of x: the variance is the biased one, in two passes; both are 0 if all rows are padding.
template <class T>
void batch_statistics(T* mean, T* variance, const T* x, const NormRows& rows);

// x, y (rows, cols); mean, rstd, gamma, beta (cols); beta may be null (0).
template <class T>
void batch_norm_forward(T* y, const T* x, const T* mean, const T* rstd, const T* gamma, const T* beta,
                        const NormRows& rows);

// With x̂ = (x − μ)·rstd, for n rows that are no padding:
//   dgamma = dgamma_beta·dgamma + Σ_rows dy·x̂;   dbeta = dbeta_beta·dbeta + Σ_rows dy
//   dx = dx_beta·dx + γ·rstd·(dy − Σ dy/n − x̂·Σ(dy·x̂)/n), where `of_batch`: mean and rstd are those of x
//   dx = dx_beta·dx + γ·rstd·dy, where they are constants
// A null dx, dgamma or dbeta is not computed.
template <class T>
void batch_norm_backward(T* dx, T dx_beta, T* dgamma, T dgamma_beta, T* dbeta, T dbeta_beta, const T* dy, const T* x,
                         const T* mean, const T* rstd, const T* gamma, const NormRows& rows, bool of_batch);

}  // namespace tapeformer::kernels
