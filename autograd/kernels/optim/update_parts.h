// How the optimizers' kernels share a slab among threads.
#pragma once

#include "autograd/kernels/optim/decay_parts.h"
#include "autograd/kernels/simd/simd.h"
#include "core/parallel.h"

namespace tapeformer::kernels {

// Updates all elements of the parts, in parallel: calls f(i, n, step, weight_decay) for n elements from i that lie in
// one part, where `step` has the learning rate of that part.
template <class Step, class F>
void update_parts(std::span<const DecayPart> parts, const Step& step, const F& f) {
  parallel_for(0, element_count(parts), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for_each_decay(parts, begin, end, [&](std::int64_t i, std::int64_t stop, const DecayPart& part) {
      Step scaled = step;
      scaled.lr *= part.rate;
      f(i, stop - i, scaled, part.weight_decay);
    });
  });
}

}  // namespace tapeformer::kernels
