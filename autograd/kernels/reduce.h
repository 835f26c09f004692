// Reductions in a fixed order: the same bits for any number of threads. `beta` is that of elementwise.h.
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

// out (outer, inner) = beta·out + Σ_k x (outer, k, inner). Bias gradients are the case outer = 1.
template <class T>
void sum_axis(T* out, const T* x, std::int64_t outer, std::int64_t middle, std::int64_t inner, T beta);

// out (cols) = beta·out + Σ of the rows of partials (count, cols), in their order and on the calling thread: for the
// few sums that the chunks of a parallel loop leave behind.
template <class T>
void sum_partials(T* out, const T* partials, std::int64_t count, std::int64_t cols, T beta);

// out (outer, inner) = max_k x (outer, k, inner); argmax is the first k of the maximum. middle >= 1.
template <class T>
void max_middle(T* out, std::int32_t* argmax, const T* x, std::int64_t outer, std::int64_t middle, std::int64_t inner);

// dx (outer, middle, inner) = beta·dx, plus dy (outer, inner) at the place k = argmax.
template <class T>
void max_middle_backward(T* dx, const T* dy, const std::int32_t* argmax, std::int64_t outer, std::int64_t middle,
                         std::int64_t inner, T beta);

// Σ x_i², in double.
template <class T>
double sum_of_squares(const T* x, std::int64_t n);

}  // namespace tapeformer::kernels
