// The speed at which this machine multiplies matrices.
#pragma once

#include "autograd/kernels/gemm/precision.h"

namespace tapeformer {

// Returns the floating-point operations per second of a large product of f32 matrices, in this precision and with this
// number of threads; a training step can be compared with it. It is measured once, in a fifth of a second, and stored
// under the CPU's name in the file machine.json in the folder of the token cache; remove that file to measure again. A
// measurement resets the process's peak memory: call it before the work whose memory is to be measured.
double machine_peak_flops(kernels::MatmulPrecision precision, int threads);
// Measures again, and stores and returns the larger of the old and the new peak. It is for work that was faster than
// the stored peak, which may have been measured on a busy machine.
double machine_peak_flops_again(kernels::MatmulPrecision precision, int threads);

}  // namespace tapeformer
