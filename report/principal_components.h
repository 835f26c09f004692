// The plane that shows most of how vectors differ.
#pragma once

#include <array>
#include <vector>

#include "autograd/tensor/tensor.h"

namespace tapeformer {

struct PrincipalComponents {
  std::vector<std::array<double, 2>> places;  // of each vector, along the two directions of the largest variance
  std::array<double, 2> shares{};             // of the variance that each direction has
};

// Finds them for vectors (n, F), f32 and contiguous, n ≥ 1. LAPACK finds the eigenvectors of the n × n products of the
// centred vectors. Of each direction's two signs the one is taken by which the first place that is not 0 is positive.
PrincipalComponents principal_components(const Tensor& vectors);

}  // namespace tapeformer
