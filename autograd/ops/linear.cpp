#include "autograd/ops/normed_linear.h"
#include "autograd/ops/ops.h"

namespace tapeformer {
namespace {

// y = x Wᵀ + b;  dx = dy W, dW = dyᵀ x, db = Σ_rows dy
struct Linear {
  static constexpr const char* kName = "linear";
  NormedLinear product;

  Tensor forward(OpContext& context, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const Tensor y = product.forward(x, weight, {}, {}, context.recording());
    add_bias(y, bias);
    return y;
  }
  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dweight, GradSlot& dbias) {
    product.backward(dy, dx, dweight);
    write_bias_gradient(dbias, dy);
  }
};

// y = layer_norm(x) Wᵀ + b; backward as of the two ops one after the other.
struct LayerNormLinear {
  static constexpr const char* kName = "layer_norm_linear";
  NormedLinear product;

  Tensor forward(OpContext& context, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& weight,
                 const Tensor& bias) {
    const Tensor y = product.forward(x, weight, gamma, beta, context.recording());
    add_bias(y, bias);
    return y;
  }
  void backward(const Tensor& dy, GradSlot& dx, GradSlot& dgamma, GradSlot& dbeta, GradSlot& dweight, GradSlot& dbias) {
    product.backward(dy, dx, dweight, dgamma, dbeta);
    write_bias_gradient(dbias, dy);
  }
};

}  // namespace

Variable linear(const Variable& x, const Variable& weight, const Variable& bias) {
  check_linear("linear", x, weight, bias);
  return record(Linear{}, x, weight, bias);
}

Variable layer_norm_linear(const Variable& x, const NormWeights& norm, const Variable& weight, const Variable& bias) {
  if (!norm.gamma.defined()) return linear(x, weight, bias);
  check_norm("layer_norm_linear", x, norm);
  check_linear("layer_norm_linear", x, weight, bias);
  return record(LayerNormLinear{NormedLinear(norm.eps)}, x, norm.gamma, norm.beta, weight, bias);
}

}  // namespace tapeformer
