// The random keys of a batch's rows.
#pragma once

#include "core/random.h"

namespace tapeformer {

// The key of a row in training. Instead of the micro-step, it has the row's number in the whole step, so that the
// division of a step into micro-steps of `batch` rows has no influence. Streams must differ from those of ops, which
// are 0, 1, 2, …
inline RandomKey training_row_key(std::uint64_t seed, std::uint32_t step, std::uint32_t micro_step, std::int64_t batch,
                                  std::int64_t row, std::uint64_t stream) {
  return {seed, step, static_cast<std::uint32_t>(micro_step * batch + row), stream};
}

// The key of a row in evaluation, which does not depend on the run's seed, so that runs of any seed are comparable.
inline RandomKey evaluation_row_key(std::int64_t row, std::uint64_t stream) {
  return {.seed = 1, .step = 0, .micro_step = static_cast<std::uint32_t>(row), .stream = stream};
}

}  // namespace tapeformer
