// What queries and keys go through before attention, head by head and in one pass: an RMS norm with a learned weight
// (QK-norm, Henry et al. 2020), then a rotation by the token's position (rotary positions, Su et al. 2021). Either may
// be left out.
#pragma once

#include <cstdint>

#include "autograd/kernels/attention/rotary_pairs.h"

namespace tapeformer::kernels {

template <class T>
struct HeadTransform {
  std::int64_t rows, heads, dim;  // head h of a row begins h·dim elements from the beginning of the row
  // n = weight·x/√(mean x² + ε), or n = x where weight (dim) is null.
  const T* weight = nullptr;
  T eps = 0;
  // (P, dim): the cosines of dim/2 angles, then their sines. With a and b the elements of pair i of n:
  //   y_a = n_a cos_i − n_b sin_i;  y_b = n_a sin_i + n_b cos_i
  // null: y = n.
  const T* rotations = nullptr;
  // (rows): each row's place in `rotations`; null: row r has place r mod period.
  const std::int32_t* positions = nullptr;
  std::int64_t period = 1;
  RotaryPairs pairs = RotaryPairs::halves;
};

// y and x (rows, heads·dim); the distances lie between the beginnings of their rows. y may be x.
template <class T>
void transform_heads_forward(T* y, std::int64_t y_distance, const T* x, std::int64_t x_distance,
                             const HeadTransform<T>& how);

// In place: dx holds dy and becomes the gradient of x; with dn = dy rotated back and x̂ = x/√(mean x² + ε):
//   dx = (dn·w − x̂·mean(dn·w·x̂))/√(mean x² + ε);   dweight = dweight_beta·dweight + Σ_rows,heads dn·x̂
// x is read, and dweight written, only where there is a norm; dweight may be null: not wanted.
template <class T>
void transform_heads_backward(T* dx, std::int64_t dx_distance, T* dweight, T dweight_beta, const T* x,
                              std::int64_t x_distance, const HeadTransform<T>& how);

}  // namespace tapeformer::kernels
