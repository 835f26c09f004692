// Matrix products and layers made of them.
#pragma once

#include "autograd/kernels/elementwise/activation_kind.h"
#include "autograd/tape/variable.h"

namespace tapeformer {

// (…, m, k)·(…, k, n) → (…, m, n); the axes in front are broadcast   (matmul.cpp)
Variable matmul(const Variable& a, const Variable& b);
// x Wᵀ + b: x (…, in), weight (out, in), bias (out) or undefined → (…, out)   (linear.cpp)
Variable linear(const Variable& x, const Variable& weight, const Variable& bias);

struct FeedForwardWeights {
  // (hidden, in), (hidden), (out, hidden), (out); biases may be undefined. With a gated activation the first two have
  // twice as many rows: those of the gate, then those of what it multiplies.
  Variable up, up_bias, down, down_bias;
};
// act(x upᵀ + up_bias) downᵀ + down_bias, x (…, in) → (…, out), without keeping the activation's result for backward
// (feed_forward.cpp). A caller that moves x in lets it be freed as soon as the first product is done.
Variable feed_forward(Variable x, const FeedForwardWeights& weights, ActivationKind activation);
// What follows the first product: act(u + up_bias) downᵀ + down_bias, u (…, hidden) or with a gated activation
// (…, 2·hidden). It writes to the memory of u, which nobody else may use. weights.up is not read.
Variable feed_forward_output(const Variable& u, const FeedForwardWeights& weights, ActivationKind activation);

}  // namespace tapeformer
