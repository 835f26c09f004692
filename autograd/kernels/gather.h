// Rows of a table by id (an embedding), and the gradient of the table.
#pragma once

#include <cstdint>

#include "autograd/kernels/gemm/q8/q8.h"

namespace tapeformer::kernels {

// y (n, dim) = table[ids[i]]. Ids must be in range: see find_out_of_range.
template <class T>
void gather_forward(T* y, const T* table, const std::int32_t* ids, std::int64_t n, std::int64_t dim);
void gather_forward(float* y, const Bf16* table, const std::int32_t* ids, std::int64_t n, std::int64_t dim);
void gather_forward(float* y, const Q8Rows& table, const std::int32_t* ids, std::int64_t n, std::int64_t dim);

// dtable (rows, dim) = beta·dtable + Σ over i with ids[i] = row of dy_i, in the order of i for each row. There
// are no atomics: the bits are the same for any number of threads.
template <class T>
void gather_backward(T* dtable, const T* dy, const std::int32_t* ids, std::int64_t n, std::int64_t rows,
                     std::int64_t dim, T beta);

// The first i whose id is outside [0, rows), or -1.
std::int64_t find_out_of_range(const std::int32_t* ids, std::int64_t n, std::int64_t rows);

}  // namespace tapeformer::kernels
