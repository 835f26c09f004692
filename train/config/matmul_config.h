// The precision of matrix products that a configuration asks for.
#pragma once

#include <string>

#include "autograd/kernels/gemm/precision.h"
#include "train/config/config.h"

namespace tapeformer {

// What `auto` means on this CPU: medium where the CPU multiplies bf16, else highest.
MatmulSetting fastest_matmul();

// The precision that a setting names. Throws Error for `automatic`, which resolve() must have replaced.
kernels::MatmulPrecision matmul_precision(MatmulSetting setting);
inline kernels::MatmulPrecision matmul_precision(const ResolvedConfig& config) {
  return matmul_precision(config.train.matmul);
}

// A description such as "medium: bf16, by AVX512_BF16, sums in f32".
std::string describe_matmul(kernels::MatmulPrecision precision);
// Why the precision is slow on this CPU; empty if it is not.
std::string matmul_warning(kernels::MatmulPrecision precision);

}  // namespace tapeformer
