// Losses (cross_entropy.cpp, linear_cross_entropy.cpp).
#pragma once

#include "autograd/tape/variable.h"

namespace tapeformer {

struct CrossEntropyOptions {
  double smoothing = 0;  // ε: the target is (1 − ε)·onehot + ε/V
  double z_loss = 0;  // ζ: each row's loss gets ζ·(log Σ e^logits)² more, so that logits stay small (PaLM, 2022)
  double normalizer = 0;  // what the summed loss is divided by; 0: the number of targets that are not ignored
  // linear_cross_entropy on a recording tape: the value stays NaN until backward, and the logits are computed once
  // instead of twice.
  bool deferred = false;
  // Where given: the loss without smoothing and z_loss is added to it as soon as the value is known. It must live until
  // then.
  double* nll = nullptr;
};
// Mean cross-entropy in nats (a scalar): logits (N, V), targets i32 (N), negative targets are ignored.
Variable cross_entropy(const Variable& logits, const Variable& targets, const CrossEntropyOptions& options);
// The same of logits = x Wᵀ + b, a chunk of rows at a time, so that the logits never lie in memory all at once:
// x (N, dim), weight (V, dim), bias (V) or undefined   (linear_cross_entropy.cpp)
Variable linear_cross_entropy(const Variable& x, const Variable& weight, const Variable& bias, const Variable& targets,
                              const CrossEntropyOptions& options);

}  // namespace tapeformer
