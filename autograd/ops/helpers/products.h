// Matrix products and layers made of them.
#pragma once

#include <vector>

#include "autograd/kernels/elementwise/activation_kind.h"
#include "autograd/tape/variable.h"

namespace tapeformer {

// (…, m, k)·(…, k, n) → (…, m, n); the leading axes are broadcast   (matmul.cpp)
Variable matmul(const Variable& a, const Variable& b);
// x Wᵀ + b: x (…, in), weight (out, in), bias (out) or undefined → (…, out)   (linear.cpp)
Variable linear(const Variable& x, const Variable& weight, const Variable& bias);

// Consecutive rows of a weight (out, in) that a change of low rank has: all of them, or those of one stacked matrix.
struct LoraPart {
  std::int64_t row, rows;
};
struct LoraWeights {
  Variable a, b;                // A (parts·r, in), B (rows of all parts, r), whose product is the change of the weight
  std::vector<LoraPart> parts;  // in order, apart from each other
  double scale = 1;
};
// x Wᵀ + b, to which each part adds scale·(z A_iᵀ) B_iᵀ in its columns: x and z (…, in) → (…, out). z is x, or x after
// dropout (Hu et al. 2021; lora_linear.cpp).
Variable lora_linear(const Variable& x, const Variable& weight, const Variable& bias, const Variable& z,
                     const LoraWeights& lora);

struct FeedForwardWeights {
  // (hidden, in), (hidden), (out, hidden), (out); biases may be undefined. With a gated activation, up and up_bias have
  // twice as many rows: first those of the gate, then those of the factor that the gate multiplies.
  Variable up, up_bias, down, down_bias;
};
// act(x upᵀ + up_bias) downᵀ + down_bias, x (…, in) → (…, out). The activation's result is not kept for backward
// (feed_forward.cpp). If the caller moves x in, x can be freed right after the first product.
Variable feed_forward(Variable x, const FeedForwardWeights& weights, ActivationKind activation);
// act(u): (…, hidden) → (…, hidden); with a gated activation (…, 2·hidden) → (…, hidden), where the first half is the
// gate (activate.cpp).
Variable activate(const Variable& u, ActivationKind activation);
// The part after the first product: act(u + up_bias) downᵀ + down_bias for u (…, hidden), or (…, 2·hidden) with a gated
// activation. It overwrites the memory of u, which nobody else may use. weights.up is not read.
Variable feed_forward_output(const Variable& u, const FeedForwardWeights& weights, ActivationKind activation);

}  // namespace tapeformer
