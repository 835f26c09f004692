#include "autograd/kernels/rows/batch_norm.h"

#include <algorithm>
#include <array>

#include "autograd/kernels/simd/simd.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

// A task owns this many columns of all rows and adds up in f64: the bits are the same for any number of threads.
constexpr std::int64_t kColumns = 32;
using ColumnSums = std::array<double, kColumns>;

// Calls f(offset of the row, whether it is no padding) for every row.
template <class F>
void for_rows(const NormRows& rows, const F& f) {
  for (std::int64_t b = 0; b < rows.batches; ++b) {
    for (std::int64_t t = 0; t < rows.length; ++t) f((b * rows.length + t) * rows.cols, t < rows.seen(b));
  }
}

template <class T>
T plus(T beta, T old, T value) {
  return beta == T{0} ? value : beta * old + value;
}

}  // namespace

std::int64_t NormRows::count() const {
  std::int64_t count = 0;
  for (std::int64_t b = 0; b < batches; ++b) count += seen(b);
  return count;
}

template <class T>
void batch_statistics(T* mean, T* variance, const T* x, const NormRows& rows) {
  const Span span(SpanKind::kernel, "batch_statistics", {.bytes = 2.0 * sizeof(T) * rows.count() * rows.cols});
  const double n = static_cast<double>(std::max<std::int64_t>(rows.count(), 1));
  parallel_for(0, rows.cols, kColumns, [&](std::int64_t begin, std::int64_t end) {
    ColumnSums sums{}, squares{};
    for_rows(rows, [&](std::int64_t row, bool seen) {
      for (std::int64_t j = begin; seen && j < end; ++j) sums[j - begin] += static_cast<double>(x[row + j]);
    });
    for (double& sum : sums) sum /= n;
    for_rows(rows, [&](std::int64_t row, bool seen) {
      for (std::int64_t j = begin; seen && j < end; ++j) {
        const double centred = static_cast<double>(x[row + j]) - sums[j - begin];
        squares[j - begin] += centred * centred;
      }
    });
    for (std::int64_t j = begin; j < end; ++j) {
      mean[j] = static_cast<T>(sums[j - begin]);
      variance[j] = static_cast<T>(squares[j - begin] / n);
    }
  });
}

template <class T>
void batch_norm_forward(T* y, const T* x, const T* mean, const T* rstd, const T* gamma, const T* beta,
                        const NormRows& rows) {
  const Span span(SpanKind::kernel, "batch_norm_forward", {.bytes = 2.0 * sizeof(T) * rows.count() * rows.cols});
  parallel_for(0, rows.batches * rows.length, rows_per_chunk(rows.cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* const from = x + row * rows.cols;
      T* const to = y + row * rows.cols;
      const bool seen = row % rows.length < rows.seen(row / rows.length);
      for (std::int64_t j = 0; j < rows.cols; ++j) {
        to[j] = seen ? (from[j] - mean[j]) * rstd[j] * gamma[j] + (beta ? beta[j] : T{0}) : T{0};
      }
    }
  });
}

template <class T>
void batch_norm_backward(T* dx, T dx_beta, T* dgamma, T dgamma_beta, T* dbeta, T dbeta_beta, const T* dy, const T* x,
                         const T* mean, const T* rstd, const T* gamma, const NormRows& rows, bool of_batch) {
  const Span span(SpanKind::kernel, "batch_norm_backward", {.bytes = 5.0 * sizeof(T) * rows.count() * rows.cols});
  const double n = static_cast<double>(std::max<std::int64_t>(rows.count(), 1));
  parallel_for(0, rows.cols, kColumns, [&](std::int64_t begin, std::int64_t end) {
    ColumnSums sums{}, products{};
    for_rows(rows, [&](std::int64_t row, bool seen) {
      for (std::int64_t j = begin; seen && j < end; ++j) {
        const double g = static_cast<double>(dy[row + j]);
        sums[j - begin] += g;
        products[j - begin] += g * static_cast<double>((x[row + j] - mean[j]) * rstd[j]);
      }
    });
    std::array<T, kColumns> mean_dy{}, mean_product{}, factor{};
    for (std::int64_t j = begin; j < end; ++j) {
      if (dbeta) dbeta[j] = plus(dbeta_beta, dbeta[j], static_cast<T>(sums[j - begin]));
      if (dgamma) dgamma[j] = plus(dgamma_beta, dgamma[j], static_cast<T>(products[j - begin]));
      mean_dy[j - begin] = static_cast<T>(of_batch ? sums[j - begin] / n : 0);
      mean_product[j - begin] = static_cast<T>(of_batch ? products[j - begin] / n : 0);
      factor[j - begin] = gamma[j] * rstd[j];
    }
    if (!dx) return;
    for_rows(rows, [&](std::int64_t row, bool seen) {
      for (std::int64_t j = begin; j < end; ++j) {
        const T normalised = (x[row + j] - mean[j]) * rstd[j];
        const T change = factor[j - begin] * (dy[row + j] - mean_dy[j - begin] - normalised * mean_product[j - begin]);
        dx[row + j] = plus(dx_beta, dx[row + j], seen ? change : T{0});
      }
    });
  });
}

#define BATCH_NORM(T)                                                                                      \
  template void batch_statistics(T*, T*, const T*, const NormRows&);                                       \
  template void batch_norm_forward(T*, const T*, const T*, const T*, const T*, const T*, const NormRows&); \
  template void batch_norm_backward(T*, T, T*, T, T*, T, const T*, const T*, const T*, const T*, const T*, \
                                    const NormRows&, bool)
BATCH_NORM(float);
BATCH_NORM(double);
#undef BATCH_NORM

}  // namespace tapeformer::kernels
