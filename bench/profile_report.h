// Where a step's time goes, as tables for reading.
#pragma once

#include <functional>
#include <ostream>

#include "bench/work.h"

namespace tapeformer::bench {

// Runs work.steps steps under the profile and prints, in ms per step: each op forward and backward, and what of it is
// not in kernels; each kernel with its GFLOP/s or GB/s; and the share of the machine's measured sgemm speed that the
// step's products reach overall (model FLOPs utilisation).
void print_profile(std::ostream& out, const Work& work, const std::function<void()>& step);

}  // namespace tapeformer::bench
