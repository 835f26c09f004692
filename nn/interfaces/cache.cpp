#include "nn/interfaces/cache.h"

#include <algorithm>
#include <numeric>

#include "core/parallel.h"

namespace tapeformer {

Tensor select_rows(const Tensor& x, std::span<const std::int64_t> rows) {
  const std::int64_t batch = x.size(0), width = batch > 0 ? x.numel() / batch : 0;
  for (const std::int64_t row : rows) {
    check(row >= 0 && row < batch, "select: expected rows from 0 to ", batch - 1, ", got ", row);
  }
  std::vector<std::int64_t> all(batch);
  std::iota(all.begin(), all.end(), 0);
  if (std::ranges::equal(rows, all)) return x;

  constexpr std::int64_t kElements = 1 << 14;  // the least number of elements that a thread copies
  Dims sizes = x.sizes();
  sizes[0] = std::ssize(rows);
  const Tensor from = x.contiguous(), to = Tensor::empty(sizes, x.dtype());
  dispatch_stored(x.dtype(), [&]<class T>(T) {
    parallel_for(0, std::ssize(rows), 1 + kElements / (width + 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::copy_n(from.data<T>() + rows[i] * width, width, to.data<T>() + i * width);
      }
    });
  });
  return to;
}

}  // namespace tapeformer
