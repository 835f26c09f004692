#include "nn/layers/norm.h"

#include "autograd/ops/layers.h"

namespace tapeformer {

LayerNorm::LayerNorm(std::int64_t dim, bool with_bias, double eps, DType dtype)
    : weight(register_parameter("weight", {dim}, dtype, Init::ones())), eps_(eps) {
  if (with_bias) bias = register_parameter("bias", {dim}, dtype, Init::zeros());
}

Variable LayerNorm::forward(const Variable& x) const {
  return call([&] { return layer_norm(x, weight, bias, eps_); });
}

RmsNorm::RmsNorm(std::int64_t dim, double eps, DType dtype)
    : weight(register_parameter("weight", {dim}, dtype, Init::ones())), eps_(eps) {}

Variable RmsNorm::forward(const Variable& x) const {
  return call([&] { return rms_norm(x, weight, eps_); });
}

std::unique_ptr<Norm> make_norm(const BlockConfig& config) {
  if (config.norm_kind == NormKind::rms) return std::make_unique<RmsNorm>(config.dim, config.norm_eps, config.dtype);
  return std::make_unique<LayerNorm>(config.dim, config.bias, config.norm_eps, config.dtype);
}

}  // namespace tapeformer
