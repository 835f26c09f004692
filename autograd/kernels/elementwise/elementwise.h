// Elementwise loops over flat arrays of n elements. Outputs come first and may be the same arrays as inputs.
// `beta` scales the old value of the output: 0 overwrites it without reading it, 1 adds to it.
// T is float or double. The loops are vectorised and parallel, with the same bits for any number of threads.
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

template <class T>
void fill(T* out, T value, std::int64_t n);  // also for std::int32_t

// out = beta·out, to which a backward then adds; for beta 0 zeros, whatever out was.
template <class T>
void begin_sum(T* out, T beta, std::int64_t n);

// out = beta·out + alpha·x
template <class T>
void axpby(T* out, T alpha, const T* x, T beta, std::int64_t n);
// out = x + value
template <class T>
void add_scalar(T* out, const T* x, T value, std::int64_t n);

template <class T>
void add(T* out, const T* a, const T* b, std::int64_t n);
template <class T>
void sub(T* out, const T* a, const T* b, std::int64_t n);
// out = beta·out + a·b
template <class T>
void mul(T* out, const T* a, const T* b, T beta, std::int64_t n);
// out = beta·out + a/b
template <class T>
void div(T* out, const T* a, const T* b, T beta, std::int64_t n);

template <class T>
void exp_forward(T* y, const T* x, std::int64_t n);
template <class T>
void log_forward(T* y, const T* x, std::int64_t n);
template <class T>
void sqrt_forward(T* y, const T* x, std::int64_t n);

// x (rows, cols) += bias (cols), for every row
template <class T>
void add_bias(T* x, const T* bias, std::int64_t rows, std::int64_t cols);

}  // namespace tapeformer::kernels
