// Functions that linear and feed_forward share (linear.cpp).
#pragma once

#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/helpers/products.h"

namespace tapeformer {

// y += bias, unless the bias is undefined. y (…, outputs) is contiguous, bias (outputs).
void add_bias(const Tensor& y, const Tensor& bias);

// db += Σ_rows dy, for dy (…, outputs).
void write_bias_gradient(GradSlot& dbias, const Tensor& dy);

// Throws Error naming `op` if x (…, in), weight (out, in) and bias (out; may be undefined) do not fit.
void check_linear(const char* op, const Variable& x, const Variable& weight, const Variable& bias);

}  // namespace tapeformer
