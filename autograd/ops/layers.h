// Embedding, dropout and normalisations.
#pragma once

#include "autograd/tape/variable.h"

namespace tapeformer {

// Reads rows of a table: table (rows, dim), ids i32 of any shape → (…ids, dim)   (embedding.cpp)
Variable embedding(const Variable& table, const Variable& ids);

// While training, zeroes each element with probability p and scales the others by 1/(1 − p); otherwise returns x
// (dropout.cpp).
Variable dropout(const Variable& x, double p);

// γ·(x − μ)/√(σ² + eps) + β over the last axis; gamma, beta (dim), beta may be undefined   (layer_norm.cpp)
Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta, double eps);
// γ·x/√(mean x² + eps) over the last axis; gamma (dim)   (rms_norm.cpp)
Variable rms_norm(const Variable& x, const Variable& gamma, double eps);

}  // namespace tapeformer
