// The precision of matrix products that a configuration asks for.
#pragma once

#include <string>
#include <vector>

#include "autograd/kernels/gemm/precision.h"
#include "train/config/config.h"

namespace tapeformer {

// Returns what `auto` means on this CPU: medium if the CPU can multiply bf16 numbers, else highest.
MatmulSetting fastest_matmul();

// Returns the settings that may make training steps fastest on this CPU, from the least exact one to `highest`. `low`
// is not among them on CPUs with AMX, whose products in bf16 are as fast as those of AVX512_VNNI in 8 bits.
std::vector<MatmulSetting> fast_matmuls();

// Returns the precision that a setting names. Throws Error for `automatic`, which resolve() should have replaced.
kernels::MatmulPrecision matmul_precision(MatmulSetting setting);
inline kernels::MatmulPrecision matmul_precision(const ResolvedConfig& config) {
  return matmul_precision(config.train.matmul);
}

// Returns the precision of everything but training steps, such as evaluations: medium in place of low, which only
// makes training steps faster.
kernels::MatmulPrecision inference_precision(kernels::MatmulPrecision precision);

// Returns a description such as "medium: bf16, by AVX512_BF16, sums in f32".
std::string describe_matmul(kernels::MatmulPrecision precision);
// Returns a warning if this precision is slower than `highest` on this CPU, else "".
std::string matmul_warning(kernels::MatmulPrecision precision);

}  // namespace tapeformer
