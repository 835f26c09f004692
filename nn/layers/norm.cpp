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
  switch (config.norm_kind) {
    case NormKind::layer:
      return std::make_unique<LayerNorm>(config.dim, config.bias.norms, config.norm_eps, config.dtype);
    case NormKind::rms:
      return std::make_unique<RmsNorm>(config.dim, config.norm_eps, config.dtype);
    case NormKind::none:
      break;
  }
  return nullptr;
}

Variable normalize(const std::unique_ptr<Norm>& norm, const Variable& x) { return norm ? norm->forward(x) : x; }

}  // namespace tapeformer
