// A page that shows vectors: a map of them, their cosines, and the position embeddings.
#pragma once

#include <string>
#include <vector>

#include "autograd/tensor/tensor.h"

namespace tapeformer {

// Shows the vectors (n, F) on a map made by principal_components(), the cosines of all pairs, and as a heat map the
// model's position embeddings (length, dim), which may be undefined. Tensors are f32 and contiguous. Each vector has a
// label, which is shown as printable_text(). Throws UsageError for more than 300 vectors.
std::string embedding_page(const std::string& title, const std::vector<std::string>& labels, const Tensor& vectors,
                           const Tensor& positions);

}  // namespace tapeformer
