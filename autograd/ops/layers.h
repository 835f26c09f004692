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

// The running statistics of a batch norm, (C) each and contiguous. In training, batch_norm() moves them by `momentum`
// towards the mean and the unbiased variance of the batch, as torch.nn.BatchNorm1d; it needs two tokens for that.
struct RunningStatistics {
  Tensor mean, variance;
  double momentum = 0.1;
};
// γ·(x − μ)/√(σ² + eps) + β for x (…, C); gamma, beta (C), beta may be undefined (Ioffe & Szegedy 2015). While
// training, μ and σ² are the mean and the biased variance of each of the C features over all tokens; otherwise the
// running statistics. With lengths (i32 (B)), x is (B, T, C), and tokens at or past a row's length are padding: they
// have no part in the statistics and become 0 (batch_norm.cpp).
Variable batch_norm(const Variable& x, const Variable& gamma, const Variable& beta, const RunningStatistics& running,
                    double eps, const Tensor& lengths = {});

}  // namespace tapeformer
