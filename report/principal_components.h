// Principal component analysis: the plane with the largest variance of the vectors.
#pragma once

#include <array>
#include <vector>

#include "autograd/tensor/tensor.h"

namespace tapeformer {

struct PrincipalComponents {
  // The coordinates of each vector along the two directions of the largest variance.
  std::vector<std::array<double, 2>> coordinates;
  std::array<double, 2> shares{};  // the share of each direction in the whole variance
};

// Computes the principal components of vectors (n, F), f32 and contiguous, n ≥ 1, from the eigenvectors of the n × n
// dot products of the centred vectors (LAPACK). The sign of each direction is chosen such that the first non-zero
// coordinate is positive.
PrincipalComponents principal_components(const Tensor& vectors);

}  // namespace tapeformer
