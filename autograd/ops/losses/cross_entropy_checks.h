// Functions that cross_entropy and linear_cross_entropy share.
#pragma once

#include "autograd/ops/losses/losses.h"

namespace tapeformer {

// Checks the targets and options, and replaces a normalizer of 0 by the number of targets that are not ignored. Throws
// Error naming `what`.
CrossEntropyOptions checked_options(const char* what, const Tensor& targets, std::int64_t rows, std::int64_t vocab,
                                    CrossEntropyOptions options);

// Returns the sum of the targets' logits over the rows that are not ignored. The loss without smoothing is the sum of
// log_sum_exp (see sum_of_scored) minus this sum. The logits (rows, vocab) are contiguous.
template <class T>
double sum_of_target_logits(const T* logits, const std::int32_t* targets, std::int64_t rows, std::int64_t vocab) {
  double total = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (targets[i] >= 0) total += logits[i * vocab + targets[i]];
  }
  return total;
}
// Returns Σ log_sum_exp over the rows that are not ignored.
double sum_of_scored(const Tensor& log_sum_exp, const Tensor& targets);

// Returns the sum of a contiguous tensor's values, added in double from the first to the last.
double sum_in_order(const Tensor& values);

}  // namespace tapeformer
