// What cross_entropy and linear_cross_entropy share.
#pragma once

#include "autograd/ops/losses/losses.h"

namespace tapeformer {

// Checks the targets and options, and works out a normalizer of 0. Throws Error naming `what`.
CrossEntropyOptions checked_options(const char* what, const Tensor& targets, std::int64_t rows, std::int64_t vocab,
                                    CrossEntropyOptions options);

// The loss without smoothing is log_sum_exp − the target's logit, summed over the rows that are not ignored. The logits
// are contiguous, (rows, vocab); `targets` and `log_sum_exp` are those of the same rows.
template <class T>
double sum_of_target_logits(const T* logits, const std::int32_t* targets, std::int64_t rows, std::int64_t vocab) {
  double total = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (targets[i] >= 0) total += logits[i * vocab + targets[i]];
  }
  return total;
}
// Σ log_sum_exp of the rows that are not ignored.
double sum_of_scored(const Tensor& log_sum_exp, const Tensor& targets);

// The sum of a contiguous tensor's values in double, first to last.
double sum_in_order(const Tensor& values);

}  // namespace tapeformer
