// Tables that show where the time of a step goes.
#pragma once

#include <functional>
#include <ostream>

#include "bench/work.h"

namespace tapeformer::bench {

// Runs work.steps steps under the profiler. Prints, in ms per step, each op's forward and backward, with the part of it
// that is outside of kernels, and each kernel with its GFLOP/s or GB/s. The last line is the model FLOPs utilisation:
// the share of the machine's measured sgemm speed that the step's products reach.
void print_profile(std::ostream& out, const Work& work, const std::function<void()>& step);

}  // namespace tapeformer::bench
