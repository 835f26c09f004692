// Losses (cross_entropy.cpp, linear_cross_entropy.cpp).
#pragma once

#include "autograd/tape/variable.h"

namespace tapeformer {

struct CrossEntropyOptions {
  double smoothing = 0;   // ε: the target is (1 − ε)·onehot + ε/V
  double z_loss = 0;      // ζ: adds ζ·(log Σ e^logits)² to each row's loss, so that logits stay small (PaLM, 2022)
  double normalizer = 0;  // the summed loss is divided by it; 0: by the number of targets that are not ignored
  // For linear_cross_entropy on a recording tape: the value is NaN until backward, and the logits are computed once
  // instead of twice.
  bool deferred = false;
  // If not null, the loss without smoothing and z_loss is added to it as soon as it is known; *nll must live until
  // then.
  double* nll = nullptr;
};
// The mean cross-entropy in nats (a scalar): logits (N, V), targets i32 (N). Negative targets are ignored.
Variable cross_entropy(const Variable& logits, const Variable& targets, const CrossEntropyOptions& options);
// The cross-entropy of logits = x Wᵀ + b, computed in chunks of rows, so that the logits are never in memory all at
// once: x (N, dim), weight (V, dim), bias (V) or undefined (linear_cross_entropy.cpp). With cap > 0 the logits are
// softcap(x Wᵀ + b, cap).
Variable linear_cross_entropy(const Variable& x, const Variable& weight, const Variable& bias, const Variable& targets,
                              const CrossEntropyOptions& options, double cap = 0);

}  // namespace tapeformer
