// The page of vectors: a map of them, how alike they are, and the vectors of positions.
#pragma once

#include <string>
#include <vector>

#include "autograd/tensor/tensor.h"

namespace tapeformer {

// A map by principal_components() of the vectors (n, F), the cosines of all pairs, and as a heat map the vectors of
// positions (length, dim) that the model adds to those of its tokens; undefined where it has none. Tensors are f32 and
// contiguous; each vector has a label, which is shown as printable_text(). Throws UsageError for more than 300 vectors.
std::string embedding_page(const std::string& title, const std::vector<std::string>& labels, const Tensor& vectors,
                           const Tensor& positions);

}  // namespace tapeformer
