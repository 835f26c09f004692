#include "train/config/matmul_config.h"

#include "autograd/kernels/gemm/bf16/bf16_unit.h"
#include "autograd/kernels/gemm/q8/q8.h"
#include "core/error.h"

namespace tapeformer {

using kernels::MatmulPrecision;

MatmulSetting fastest_matmul() {
  const bool has_bf16 = &kernels::bf16_unit() != &kernels::software_bf16_unit();
  return has_bf16 ? MatmulSetting::medium : MatmulSetting::highest;
}

std::vector<MatmulSetting> fast_matmuls() {
  const MatmulSetting fastest = fastest_matmul();
  std::vector<MatmulSetting> settings;
  if (&kernels::bf16_unit() == kernels::avx512_bf16_unit() && kernels::uses_avx512_vnni()) {
    settings.push_back(MatmulSetting::low);
  }
  settings.push_back(fastest);
  if (fastest != MatmulSetting::highest) settings.push_back(MatmulSetting::highest);
  return settings;
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
    case MatmulPrecision::low:
      return str_cat(word, ": linear layers in 8 bits, by ", kernels::uses_avx512_vnni() ? "AVX512_VNNI" : "software",
                     "; their weights' gradients and the rest in bf16, by ", unit);
  }
  return word;
}

MatmulPrecision inference_precision(MatmulPrecision precision) {
  return precision == MatmulPrecision::low ? MatmulPrecision::medium : precision;
}

std::string matmul_warning(MatmulPrecision precision) {
  if (precision == MatmulPrecision::low && !kernels::uses_avx512_vnni()) {
    return "the precision low of matrix products is much slower here than medium: this CPU has no AVX512_VNNI, so "
           "numbers "
           "of 8 bits are multiplied in software";
  }
  if (precision == MatmulPrecision::highest || &kernels::bf16_unit() != &kernels::software_bf16_unit()) return "";
  return str_cat("the precision ", word_of(precision),
                 " of matrix products is slower here than highest: this CPU has "
                 "neither AMX nor AVX512_BF16, so bf16 is rounded and multiplied in software");
}

}  // namespace tapeformer
