// How fast this machine multiplies matrices.
#pragma once

#include "autograd/kernels/gemm/precision.h"

namespace tapeformer {

// The floating point operations in a second of a large product of f32 matrices, in this precision and with this number
// of threads: what a training step can be compared with. It is measured once, in a fifth of a second, and kept in the
// file machine.json of the token cache's folder by the name of the CPU; removing that file measures it anew.
// The peak of the process's memory begins anew behind a measurement: call it before the work that is to be counted.
double machine_peak_flops(kernels::MatmulPrecision precision, int threads);
// For work that was faster than what is kept, which a busy machine may have been measured to: measures again, and keeps
// and returns the larger of both.
double machine_peak_flops_again(kernels::MatmulPrecision precision, int threads);

}  // namespace tapeformer
