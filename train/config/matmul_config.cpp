#include "train/config/matmul_config.h"

#include "autograd/kernels/gemm/bf16/bf16_unit.h"
#include "core/error.h"

namespace tapeformer {

using kernels::MatmulPrecision;

MatmulSetting fastest_matmul() {
  const bool has_bf16 = &kernels::bf16_unit() != &kernels::software_bf16_unit();
  return has_bf16 ? MatmulSetting::medium : MatmulSetting::highest;
}

MatmulPrecision matmul_precision(MatmulSetting setting) {
  check(setting != MatmulSetting::automatic, "train.matmul: auto is worked out when a configuration is resolved");
  return value_of<MatmulPrecision>(word_of(setting));  // both enums use the same words for the precisions
}

std::string describe_matmul(MatmulPrecision precision) {
  const std::string word = word_of(precision), unit = kernels::bf16_unit().name;
  switch (precision) {
    case MatmulPrecision::highest:
      return word + ": f32";
    case MatmulPrecision::high:
      return str_cat(word, ": two bf16 for each number, by ", unit, ", sums in f32");
    case MatmulPrecision::medium:
      return str_cat(word, ": bf16, by ", unit, ", sums in f32");
  }
  return word;
}

std::string matmul_warning(MatmulPrecision precision) {
  if (precision == MatmulPrecision::highest || &kernels::bf16_unit() != &kernels::software_bf16_unit()) return "";
  return str_cat("the precision ", word_of(precision),
                 " of matrix products is slower here than highest: this CPU has "
                 "neither AMX nor AVX512_BF16, so bf16 is rounded and multiplied in software");
}

}  // namespace tapeformer
