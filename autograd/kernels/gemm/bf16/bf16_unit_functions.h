// What units share, for their tables: see Bf16Unit.
#pragma once

#include "autograd/kernels/gemm/bf16/bf16_unit.h"

namespace tapeformer::kernels {

// For CPUs with AVX512_BF16.
bool has_avx512_bf16();
void pack_rows_avx512(Bf16* high, Bf16* low, std::int64_t row_distance, const PackSource& source, std::int64_t count,
                      std::int64_t depth);
void pack_columns_avx512(Bf16* high, Bf16* low, const PackSource& source, std::int64_t count, std::int64_t depth);
void pack_rounded_columns_avx512(Bf16* to, const Bf16* columns, std::int64_t ld, std::int64_t count,
                                 std::int64_t depth);
void multiply_few_rows_avx512(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const Bf16* b,
                              std::int64_t ldb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                              float beta);
void round_and_multiply_few_rows_avx512(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda,
                                        const PackSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
                                        float alpha, float beta);

// For any CPU.
void pack_rows_by_software(Bf16* high, Bf16* low, std::int64_t row_distance, const PackSource& source,
                           std::int64_t count, std::int64_t depth);
void pack_columns_by_software(Bf16* high, Bf16* low, const PackSource& source, std::int64_t count, std::int64_t depth);
void pack_rounded_columns_by_software(Bf16* to, const Bf16* columns, std::int64_t ld, std::int64_t count,
                                      std::int64_t depth);
void multiply_few_rows_by_software(float* c, std::int64_t ldc, const Bf16* a, std::int64_t lda, const Bf16* b,
                                   std::int64_t ldb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                                   float beta);

}  // namespace tapeformer::kernels
