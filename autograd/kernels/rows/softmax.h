// Softmax over the last axis of x (rows, cols), shifted by the row's maximum. `beta` is that of elementwise.h.
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

// y = e^(x − max) / Σ e^(x − max);  a row that is all −∞ gives zeros.
template <class T>
void softmax_forward(T* y, const T* x, std::int64_t rows, std::int64_t cols);
// dx = beta·dx + y·(dy − Σ_j dy_j y_j)
template <class T>
void softmax_backward(T* dx, const T* dy, const T* y, std::int64_t rows, std::int64_t cols, T beta);

// y = x − max − log Σ e^(x − max)
template <class T>
void log_softmax_forward(T* y, const T* x, std::int64_t rows, std::int64_t cols);
// dx = beta·dx + dy − e^y·Σ_j dy_j
template <class T>
void log_softmax_backward(T* dx, const T* dy, const T* y, std::int64_t rows, std::int64_t cols, T beta);

}  // namespace tapeformer::kernels
