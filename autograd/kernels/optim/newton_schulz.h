// The nearest orthogonal matrix, nearly: for optimizers that step by it.
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

// x (rows, cols) = U Vᵀ, nearly, where the old x = U S Vᵀ: singular values end in about [0.7, 1.2], very small ones
// lower. Five Newton–Schulz steps with the coefficients of Jordan et al. 2024 (Muon), from x / ‖x‖_F on:
//   A = X Xᵀ;  X = 3.4445 X + (−4.7750 A + 2.0315 A²) X
// or with A = Xᵀ X on the right where that one is smaller, which gives the same. Zeros stay zeros, and a NaN makes all
// elements NaN. The products have the precision in force (MatmulPrecisionScope). Inside a parallel loop the calling
// thread alone runs it, with the same bits for any number of threads.
template <class T>
void orthogonalize(T* x, std::int64_t rows, std::int64_t cols);

}  // namespace tapeformer::kernels
