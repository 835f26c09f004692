// The product that begins a layer, with or without a layer norm before it: what linear, layer_norm_linear and
// feed_forward share.
#pragma once

#include "autograd/ops/op_helpers.h"
#include "autograd/ops/ops.h"

namespace tapeformer {

// z = x Wᵀ, or with a norm z = y Wᵀ, y = layer_norm(x). y is not kept: backward makes it again, in the memory of its
// gradient.
class NormedLinear {
 public:
  NormedLinear() = default;  // no norm
  explicit NormedLinear(double eps) : eps_(eps) {}

  // in (…, features), w (outputs, features), gamma (features) or undefined: no norm, beta (features) or undefined
  // → z (…, outputs).
  Tensor forward(const Tensor& in, const Tensor& w, const Tensor& gamma, const Tensor& beta, bool recording);

  // dz of z's number of elements. With g = dz as (rows, outputs):  dy = g W, dW = gᵀ y, and the norm's backward of dy.
  void backward(const Tensor& dz, GradSlot& dx, GradSlot& dweight, GradSlot& dgamma, GradSlot& dbeta) const;
  // Without a norm.
  void backward(const Tensor& dz, GradSlot& dx, GradSlot& dweight) const;

 private:
  Tensor normalised() const;

  double eps_ = 0;
  Tensor x_, weight_;  // x as (rows, features)
  Tensor gamma_, beta_, mean_, rstd_;
};

// y (…, outputs), dense += bias (outputs), unless that is undefined.
void add_bias(const Tensor& y, const Tensor& bias);

// db += Σ_rows dz, for dz (rows, outputs) of any rank.
void write_bias_gradient(GradSlot& dbias, const Tensor& dz);

// Throws Error when x (…, in), weight (out, in) and bias (out; may be undefined) do not fit.
void check_linear(const char* op, const Variable& x, const Variable& weight, const Variable& bias);
// The same for gamma and beta (in), which may be undefined.
void check_norm(const char* op, const Variable& x, const NormWeights& norm);

}  // namespace tapeformer
