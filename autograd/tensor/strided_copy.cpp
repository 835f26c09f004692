#include "autograd/tensor/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // the number of elements that are worth a chunk

constexpr std::int64_t kTile = 32;  // the side of a tile of a transpose: source and target fit into the L1 cache

// The same elements in the same order with as few axes as possible, at least one.
Layout merge_axes(const Layout& layout) {
  Layout merged;
  merged.offset = layout.offset;
  for (int i = 0; i < layout.rank(); ++i) {
    if (layout.sizes[i] == 1) continue;
    const int last = merged.rank() - 1;
    if (last >= 0 && merged.strides[last] == layout.strides[i] * layout.sizes[i]) {
      merged.sizes[last] *= layout.sizes[i];
      merged.strides[last] = layout.strides[i];
    } else {
      merged.sizes.push_back(layout.sizes[i]);
      merged.strides.push_back(layout.strides[i]);
    }
  }
  if (merged.rank() == 0) {
    merged.sizes.push_back(1);
    merged.strides.push_back(1);
  }
  return merged;
}

// Calls f(index, offset, count, stride) for runs that together cover the layout: `count` elements that follow each
// other from `index` on in row-major order, and lie at offset, offset + stride, … in the storage. Runs in parallel.
template <class F>
void for_each_run(const Layout& layout, const F& f) {
  if (layout.numel() == 0) return;
  const Layout strided = merge_axes(layout);
  const Dims& sizes = strided.sizes;
  const Dims row_major = Layout::contiguous(sizes).strides;
  const int last = sizes.rank() - 1;
  const std::int64_t stride = strided.strides[last];

  // The work is cut into blocks: a long piece of the last axis at one place of all other axes. Where another axis is
  // the dense one, blocks are tiles of that axis and the last, so that no cache line is fetched twice.
  Dims block = Dims::filled(sizes.rank(), 1);
  block[last] = kGrain;
  const auto* const dense = std::find(strided.strides.begin(), strided.strides.end(), 1);
  int tiled = -1;
  if (stride > 1 && dense != strided.strides.end()) {
    tiled = static_cast<int>(dense - strided.strides.begin());
    block[tiled] = block[last] = kTile;
  }

  Dims blocks = sizes;
  std::int64_t block_numel = 1;
  for (int i = 0; i <= last; ++i) {
    block[i] = std::min(block[i], sizes[i]);
    blocks[i] = chunk_count(sizes[i], block[i]);
    block_numel *= block[i];
  }

  const auto run_blocks = [&](std::int64_t begin, std::int64_t end) {
    Dims at = blocks;  // where the block starts
    for (std::int64_t i = last, rest = begin; i >= 0; rest /= blocks[i], --i) at[i] = rest % blocks[i] * block[i];
    for (std::int64_t n = begin; n < end; ++n) {
      std::int64_t index = 0, offset = strided.offset;
      for (int i = 0; i <= last; ++i) {
        index += at[i] * row_major[i];
        offset += at[i] * strided.strides[i];
      }
      const std::int64_t count = std::min(block[last], sizes[last] - at[last]);
      const std::int64_t runs = tiled < 0 ? 1 : std::min(kTile, sizes[tiled] - at[tiled]);
      for (std::int64_t run = 0; run < runs; ++run) {
        f(index, offset, count, stride);
        if (tiled >= 0) index += row_major[tiled], offset += 1;
      }
      for (int i = last; i >= 0; --i) {
        at[i] += block[i];
        if (at[i] < sizes[i]) break;
        at[i] = 0;
      }
    }
  };
  parallel_for(0, blocks.product(), std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, block_numel)),
               run_blocks);
}

}  // namespace

template <class T>
void copy_to_contiguous(T* out, const T* in, const Layout& layout) {
  const Span span(SpanKind::kernel, "copy_to_contiguous", {.bytes = 2.0 * sizeof(T) * layout.numel()});
  for_each_run(layout, [&](std::int64_t index, std::int64_t offset, std::int64_t count, std::int64_t stride) {
    T* const to = out + index;
    const T* const from = in + offset;
    if (stride == 1) {
      std::memcpy(to, from, count * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
    }
  });
}

template <class T>
void accumulate_strided(T* out, const Layout& layout, const T* x, T beta) {
  const Span span(SpanKind::kernel, "accumulate_strided", {.bytes = 3.0 * sizeof(T) * layout.numel()});
  for_each_run(layout, [&](std::int64_t index, std::int64_t offset, std::int64_t count, std::int64_t stride) {
    T* const to = out + offset;
    const T* const from = x + index;
    if (beta == T{0}) {
      for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
    } else if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = beta * to[i] + from[i];
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i * stride] = beta * to[i * stride] + from[i];
    }
  });
}

template void copy_to_contiguous(float*, const float*, const Layout&);
template void copy_to_contiguous(double*, const double*, const Layout&);
template void copy_to_contiguous(std::int32_t*, const std::int32_t*, const Layout&);
template void copy_to_contiguous(std::uint16_t*, const std::uint16_t*, const Layout&);
template void copy_to_contiguous(std::uint8_t*, const std::uint8_t*, const Layout&);
template void accumulate_strided(float*, const Layout&, const float*, float);
template void accumulate_strided(double*, const Layout&, const double*, double);
template void accumulate_strided(std::int32_t*, const Layout&, const std::int32_t*, std::int32_t);

}  // namespace tapeformer
