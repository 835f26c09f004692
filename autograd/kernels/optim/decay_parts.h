// Weight decay and learning rate of parameters that lie one after another in one slab.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace tapeformer::kernels {

// Consecutive elements with the same weight decay and learning rate: from the end of the part before up to `end`.
struct DecayPart {
  std::int64_t end;
  double weight_decay;
  double rate = 1;  // what the step's learning rate is multiplied by
};

inline std::int64_t element_count(std::span<const DecayPart> parts) { return parts.empty() ? 0 : parts.back().end; }

// Calls f(i, stop, part) for each range [i, stop) of [begin, end) that lies in one part. The parts must reach
// up to `end`.
template <class F>
void for_each_decay(std::span<const DecayPart> parts, std::int64_t begin, std::int64_t end, const F& f) {
  for (auto part = std::ranges::upper_bound(parts, begin, {}, &DecayPart::end); begin < end; ++part) {
    const std::int64_t stop = std::min(end, part->end);
    f(begin, stop, *part);
    begin = stop;
  }
}

}  // namespace tapeformer::kernels
