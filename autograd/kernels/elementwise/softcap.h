// A soft bound of numbers, over flat arrays of n elements. `beta` is that of elementwise.h; the errors are those of
// activations.h.
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

// y = cap·tanh(x/cap), cap > 0 (Gemma Team 2024);  dx = beta·dx + dy·(1 − (y/cap)²)
template <class T>
void softcap_forward(T* y, const T* x, T cap, std::int64_t n);
template <class T>
void softcap_backward(T* dx, const T* dy, const T* y, T cap, T beta, std::int64_t n);

}  // namespace tapeformer::kernels
