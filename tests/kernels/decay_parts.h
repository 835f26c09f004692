#pragma once

#include <cstdint>
#include <vector>

#include "autograd/kernels/optim/decay_parts.h"

namespace tapeformer::kernels {

// Parts of uneven lengths, with and without decay and with rates of their own, that share chunks and span several.
inline std::vector<DecayPart> parts_of(std::int64_t n) {
  return {{n / 7, 0.1}, {n / 7 + n / 3, 0}, {n - n / 5, 0.01, 0.25}, {n, 0.5, 0}};
}

}  // namespace tapeformer::kernels
