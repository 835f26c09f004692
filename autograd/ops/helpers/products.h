// Matrix products and layers made of them.
#pragma once

#include "autograd/kernels/elementwise/activation_kind.h"
#include "autograd/tape/variable.h"

namespace tapeformer {

// (…, m, k)·(…, k, n) → (…, m, n); the leading axes are broadcast   (matmul.cpp)
Variable matmul(const Variable& a, const Variable& b);
// x Wᵀ + b: x (…, in), weight (out, in), bias (out) or undefined → (…, out)   (linear.cpp)
Variable linear(const Variable& x, const Variable& weight, const Variable& bias);

struct FeedForwardWeights {
  // (hidden, in), (hidden), (out, hidden), (out); biases may be undefined. With a gated activation, up and up_bias have
  // twice as many rows: first those of the gate, then those of the factor that the gate multiplies.
  Variable up, up_bias, down, down_bias;
};
// act(x upᵀ + up_bias) downᵀ + down_bias, x (…, in) → (…, out). The activation's result is not kept for backward
// (feed_forward.cpp). If the caller moves x in, x can be freed right after the first product.
Variable feed_forward(Variable x, const FeedForwardWeights& weights, ActivationKind activation);
// The part after the first product: act(u + up_bias) downᵀ + down_bias for u (…, hidden), or (…, 2·hidden) with a gated
// activation. It overwrites the memory of u, which nobody else may use. weights.up is not read.
Variable feed_forward_output(const Variable& u, const FeedForwardWeights& weights, ActivationKind activation);

}  // namespace tapeformer
