// Matrix products of float operands that are rounded to bf16 while they are packed. Sums are kept in float.
#pragma once

#include "autograd/kernels/gemm/bf16/bf16_unit.h"
#include "autograd/kernels/gemm/gemm.h"

namespace tapeformer::kernels {

// gemm on a unit, for m and n of at least 1. `split`: each operand is the sum of two bf16, high and low, and three
// products are added: high·high, high·low and low·high. Each element of c adds up in an order that depends on k alone:
// the same bits for any m, n and number of threads. `lower`: only what lies on or below the diagonal of c is wanted;
// the rest may be written, with the same numbers as otherwise, or not.
void bf16_gemm(const Bf16Unit& unit, bool split, float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<float> b,
               std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta, bool lower = false);

// The same bits where b is rounded already.
void bf16_gemm(const Bf16Unit& unit, float* c, std::int64_t ldc, MatrixView<float> a, MatrixView<Bf16> b,
               std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta);

}  // namespace tapeformer::kernels
