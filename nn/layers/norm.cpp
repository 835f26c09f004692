#include "nn/layers/norm.h"

namespace tapeformer {

Variable Norm::forward_rows(const Variable& x, const Tensor&) const { return forward(x); }

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

BatchNorm::BatchNorm(std::int64_t dim, bool with_bias, double eps, DType dtype)
    : weight(register_parameter("weight", {dim}, dtype, Init::ones())), eps_(eps) {
  if (with_bias) bias = register_parameter("bias", {dim}, dtype, Init::zeros());
  running_.mean = register_buffer("running_mean", {dim}, dtype, 0);
  running_.variance = register_buffer("running_var", {dim}, dtype, 1);
}

Variable BatchNorm::forward_rows(const Variable& x, const Tensor& lengths) const {
  return call([&] { return batch_norm(x, weight, bias, running_, eps_, lengths); });
}

std::unique_ptr<Norm> make_norm(const BlockConfig& config) {
  switch (config.norm_kind) {
    case NormKind::layer:
      return std::make_unique<LayerNorm>(config.dim, config.bias.norms, config.norm_eps, config.dtype);
    case NormKind::rms:
      return std::make_unique<RmsNorm>(config.dim, config.norm_eps, config.dtype);
    case NormKind::batch:
      return std::make_unique<BatchNorm>(config.dim, config.bias.norms, config.norm_eps, config.dtype);
    case NormKind::none:
      break;
  }
  return nullptr;
}

Variable normalize(const std::unique_ptr<Norm>& norm, const Variable& x, const Tensor& lengths) {
  return norm ? norm->forward_rows(x, lengths) : x;
}

}  // namespace tapeformer
