// How the kernels of a reduced state share its blocks among threads.
#pragma once

#include <algorithm>

#include "autograd/kernels/optim/decay_parts.h"
#include "autograd/kernels/optim/reduced_state.h"
#include "autograd/kernels/simd/simd.h"
#include "core/parallel.h"

namespace tapeformer::kernels {

// A block of a reduced state: the index of its first element among the weights and in the state, its number of
// elements, and its own index among the scales.
struct StateBlock {
  std::int64_t begin, state_begin, size, index;
};

inline std::int64_t element_count(const StateLayout& layout) {
  std::int64_t elements = 0;
  for (const StateRange& range : layout.ranges) elements += range.size;
  return elements;
}

// Calls f(block) for all blocks of all ranges, in parallel.
template <class F>
void for_each_block(const StateLayout& layout, const F& f) {
  if (layout.ranges.empty()) return;
  const StateRange& last = layout.ranges.back();
  const std::int64_t blocks = last.first_block + state_blocks(last.size);
  parallel_for(0, blocks, kGrain / kStateBlock, [&](std::int64_t i, std::int64_t end) {
    auto range = std::ranges::upper_bound(layout.ranges, i, {}, &StateRange::first_block) - 1;
    for (; i < end; ++i) {
      while (i >= range->first_block + state_blocks(range->size)) ++range;
      const std::int64_t first = (i - range->first_block) * kStateBlock;
      f(StateBlock{range->begin + first, range->state_begin + first, std::min(kStateBlock, range->size - first), i});
    }
  });
}

// The same for an update rule: calls f(block, step, weight_decay), where `step` has the learning rate of the block.
template <class Step, class F>
void update_blocks(const StateLayout& layout, std::span<const DecayPart> parts, const Step& step, const F& f) {
  for_each_block(layout, [&](const StateBlock& block) {
    for_each_decay(parts, block.begin, block.begin + block.size, [&](auto, auto, const DecayPart& part) {
      Step scaled = step;
      scaled.lr *= part.rate;
      f(block, scaled, part.weight_decay);
    });
  });
}

}  // namespace tapeformer::kernels
