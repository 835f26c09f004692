#include "autograd/kernels/gather.h"

#include <algorithm>
#include <cstring>

#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/simd/simd.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {

template <class T>
void gather_forward(T* y, const T* table, const std::int32_t* ids, std::int64_t n, std::int64_t dim) {
  const Span span(SpanKind::kernel, "gather_forward", {.bytes = 2.0 * sizeof(T) * n * dim});
  if (dim == 0) return;
  parallel_for(0, n, rows_per_chunk(dim), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) std::memcpy(y + i * dim, table + ids[i] * dim, dim * sizeof(T));
  });
}

void gather_forward(float* y, const Bf16* table, const std::int32_t* ids, std::int64_t n, std::int64_t dim) {
  const Span span(SpanKind::kernel, "gather_forward", {.bytes = 6.0 * n * dim});
  parallel_for(0, n, rows_per_chunk(dim), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::transform(table + ids[i] * dim, table + (ids[i] + 1) * dim, y + i * dim, widen);
    }
  });
}

void gather_forward(float* y, const Q8Rows& table, const std::int32_t* ids, std::int64_t n, std::int64_t dim) {
  const Span span(SpanKind::kernel, "gather_forward", {.bytes = 5.0 * n * dim});
  parallel_for(0, n, rows_per_chunk(dim), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) dequantize_q8(y + i * dim, table.from(ids[i] * dim), dim);
  });
}

// Each chunk owns a band of columns of the whole table and goes through all ids in order: nothing has to be sorted, no
// two threads write one element, and the shares are equal however often an id occurs.
template <class T>
void gather_backward(T* dtable, const T* dy, const std::int32_t* ids, std::int64_t n, std::int64_t rows,
                     std::int64_t dim, T beta) {
  const Span span(SpanKind::kernel, "gather_backward", {.bytes = 3.0 * sizeof(T) * n * dim});
  begin_sum(dtable, beta, rows * dim);
  const std::int64_t band = n * dim <= kGrain ? std::max<std::int64_t>(1, dim) : 32;
  parallel_for(0, dim, band, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < n; ++i) {
      T* const to = dtable + ids[i] * dim;
      const T* const from = dy + i * dim;
      for (std::int64_t j = begin; j < end; ++j) to[j] += from[j];
    }
  });
}

std::int64_t find_out_of_range(const std::int32_t* ids, std::int64_t n, std::int64_t rows) {
  const auto* const found = std::find_if(ids, ids + n, [&](std::int32_t id) { return id < 0 || id >= rows; });
  return found == ids + n ? -1 : found - ids;
}

template void gather_forward(float*, const float*, const std::int32_t*, std::int64_t, std::int64_t);
template void gather_forward(double*, const double*, const std::int32_t*, std::int64_t, std::int64_t);
template void gather_backward(float*, const float*, const std::int32_t*, std::int64_t, std::int64_t, std::int64_t,
                              float);
template void gather_backward(double*, const double*, const std::int32_t*, std::int64_t, std::int64_t, std::int64_t,
                              double);

}  // namespace tapeformer::kernels
