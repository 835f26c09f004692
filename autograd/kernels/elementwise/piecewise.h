// Elementwise functions with kinks, over flat arrays of n elements. `beta` as in elementwise.h. NaN gives NaN. Where
// the derivative jumps it is PyTorch's choice.
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

// y = |x|;  dx = beta·dx + dy·sign(x), where sign(0) is 0
template <class T>
void abs_forward(T* y, const T* x, std::int64_t n);
template <class T>
void abs_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n);

// y = min(max(x, low), high);  dx = beta·dx + dy·[low ≤ x ≤ high]
template <class T>
void clamp_forward(T* y, const T* x, T low, T high, std::int64_t n);
template <class T>
void clamp_backward(T* dx, const T* dy, const T* x, T low, T high, T beta, std::int64_t n);

// y = min(a, b);  y = max(a, b)
template <class T>
void minimum_forward(T* y, const T* a, const T* b, std::int64_t n);
template <class T>
void maximum_forward(T* y, const T* a, const T* b, std::int64_t n);
// The gradient of whichever of two is smaller: da = beta·da + dy·([a < b] + ½[a = b]). With a and b swapped it is the
// gradient of the larger one.
template <class T>
void smaller_backward(T* da, const T* dy, const T* a, const T* b, T beta, std::int64_t n);

}  // namespace tapeformer::kernels
