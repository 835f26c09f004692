// A layer of two-dimensional convolution.
#pragma once

#include "autograd/ops/convolution.h"
#include "nn/module/module.h"

namespace tapeformer {

// Images (B, in, H, W) → (B, out, OH, OW), as torch.nn.Conv2d: weight (out, in, kernel, kernel) and bias (out), both
// initially uniform in ±1/√(in·kernel²).
class Conv2d : public Module {
 public:
  Conv2d(std::int64_t in, std::int64_t out, const WindowOptions2d& windows, DType dtype);
  Variable forward(const Variable& x) const;

  Variable weight, bias;

 private:
  ConvolutionOptions options_;
};

}  // namespace tapeformer
