// The products of rows of q8_0 on the calling thread, for q8_gemm.cpp.
#pragma once

#include "autograd/kernels/gemm/q8/q8.h"

namespace tapeformer::kernels {

// Rows of the left side, rounded: element i is values[i]·scales[i / kQ8Block].
struct Q8Left {
  std::int8_t* values;
  float* scales;
};

// Rounds n numbers, a multiple of kQ8Block, to nearest.
void quantize_left(const Q8Left& to, const float* x, std::int64_t n);

// c[j] = the product of a row a of k elements and row j of b, for n rows.
using MultiplyQ8Row = void(float* c, const Q8Left& a, const Q8Rows& b, std::int64_t n, std::int64_t k);
MultiplyQ8Row multiply_q8_row;         // on any CPU
MultiplyQ8Row multiply_q8_row_avx512;  // needs has_avx512_vnni()

}  // namespace tapeformer::kernels
