// Packing that units share: see Bf16Unit.
#pragma once

#include "autograd/kernels/gemm/bf16_unit.h"

namespace tapeformer::kernels {

// For CPUs with AVX512_BF16.
bool has_avx512_bf16();
void pack_rows_avx512(Bf16* high, Bf16* low, std::int64_t row_distance, PackSource source, std::int64_t count,
                      std::int64_t depth);
void pack_columns_avx512(Bf16* high, Bf16* low, PackSource source, std::int64_t count, std::int64_t depth);
void pack_rounded_columns_avx512(Bf16* to, const Bf16* columns, std::int64_t ld, std::int64_t count,
                                 std::int64_t depth);

// For any CPU.
void pack_rows_by_software(Bf16* high, Bf16* low, std::int64_t row_distance, PackSource source, std::int64_t count,
                           std::int64_t depth);
void pack_columns_by_software(Bf16* high, Bf16* low, PackSource source, std::int64_t count, std::int64_t depth);
void pack_rounded_columns_by_software(Bf16* to, const Bf16* columns, std::int64_t ld, std::int64_t count,
                                      std::int64_t depth);

}  // namespace tapeformer::kernels
