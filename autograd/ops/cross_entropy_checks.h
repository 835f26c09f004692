// What cross_entropy and linear_cross_entropy share.
#pragma once

#include "autograd/ops/losses.h"

namespace tapeformer {

// Checks the targets and options, and works out a normalizer of 0. Throws Error naming `what`.
CrossEntropyOptions checked_options(const char* what, const Tensor& targets, std::int64_t rows, std::int64_t vocab,
                                    CrossEntropyOptions options);

// The sum of a contiguous tensor's values in double, first to last.
double sum_in_order(const Tensor& values);

}  // namespace tapeformer
