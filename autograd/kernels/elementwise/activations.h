// Activation functions and their derivatives over flat arrays of n elements. `beta` is that of elementwise.h.
// The errors are at most 4 ulps in float (or 1e-7 absolute where a result is near zero) and 1e-14 in double.
#pragma once

#include <cstdint>

#include "autograd/kernels/elementwise/activation_kind.h"

namespace tapeformer::kernels {

// y = max(x, 0);  dx = beta·dx + dy·[x > 0]
template <class T>
void relu_forward(T* y, const T* x, std::int64_t n);
template <class T>
void relu_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n);

// y = tanh x;  dx = beta·dx + dy·(1 − y²)
template <class T>
void tanh_forward(T* y, const T* x, std::int64_t n);
template <class T>
void tanh_backward(T* dx, const T* dy, const T* y, T beta, std::int64_t n);

// y = 1/(1 + e^−x);  dx = beta·dx + dy·y·(1 − y)
template <class T>
void sigmoid_forward(T* y, const T* x, std::int64_t n);
template <class T>
void sigmoid_backward(T* dx, const T* dy, const T* y, T beta, std::int64_t n);

// y = ln(1 + e^x);  dx = beta·dx + dy/(1 + e^−x)
template <class T>
void softplus_forward(T* y, const T* x, std::int64_t n);
template <class T>
void softplus_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n);

// Exact GELU (Hendrycks & Gimpel 2016): y = x Φ(x), Φ(x) = (1 + erf(x/√2))/2;  dx = beta·dx + dy·(Φ(x) + x φ(x))
template <class T>
void gelu_forward(T* y, const T* x, std::int64_t n);
template <class T>
void gelu_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n);

// GPT-2's GELU: y = x/2·(1 + tanh u), u = √(2/π)(x + 0.044715x³)
template <class T>
void gelu_tanh_forward(T* y, const T* x, std::int64_t n);
template <class T>
void gelu_tanh_backward(T* dx, const T* dy, const T* x, T beta, std::int64_t n);

// The hidden layer of a feed-forward block whose activation is not gated: y = act(x + bias) for x (rows, cols), bias
// (cols) or null. y may be x.
template <class T>
void bias_activation_forward(ActivationKind kind, T* y, const T* x, const T* bias, std::int64_t rows,
                             std::int64_t cols);
// In place, for a backward that computes the hidden layer again: x becomes act(x + bias), dy becomes dy·act'(x + bias).
template <class T>
void bias_activation_backward(ActivationKind kind, T* x, T* dy, const T* bias, std::int64_t rows, std::int64_t cols);

// The same of a gated one: y = act(g)·u for the halves g and u, cols wide each, of the rows of x + bias; x (rows, 2
// cols), bias (2 cols) or null, y (rows, cols).
template <class T>
void gated_activation_forward(ActivationKind kind, T* y, const T* x, const T* bias, std::int64_t rows,
                              std::int64_t cols);
// In place: dy becomes y again, and x its own gradient: dg = dy·u·act'(g), du = dy·act(g).
template <class T>
void gated_activation_backward(ActivationKind kind, T* x, T* dy, const T* bias, std::int64_t rows, std::int64_t cols);

}  // namespace tapeformer::kernels
