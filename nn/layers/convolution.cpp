#include "nn/layers/convolution.h"

namespace tapeformer {

Conv2d::Conv2d(std::int64_t in, std::int64_t out, const WindowOptions2d& windows, DType dtype)
    : options_{windows.stride, windows.padding} {
  const std::int64_t k = windows.kernel;
  const Init init = Init::uniform_fan_in(in * k * k);
  weight = register_parameter("weight", {out, in, k, k}, dtype, init, ParameterKind::matrix);
  bias = register_parameter("bias", {out}, dtype, init);
}

Variable Conv2d::forward(const Variable& x) const {
  return call([&] { return conv2d(x, weight, bias, options_); });
}

}  // namespace tapeformer
