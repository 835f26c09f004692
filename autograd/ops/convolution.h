// Convolution and pooling of images (convolution.cpp). Images are (B, C, H, W), with PyTorch's order of channels.
#pragma once

#include "autograd/tape/variable.h"

namespace tapeformer {

// Square windows of an image: `kernel` pixels wide, their corners `stride` pixels apart, with `padding` pixels added at
// each edge of the image. There are ⌊(n + 2·padding − kernel)/stride⌋ + 1 of them along an axis of n pixels.
struct WindowOptions2d {
  std::int64_t kernel = 3, stride = 1, padding = 0;
};

// Copies the pixels of every window: x (B, C, H, W) → (B, OH, OW, C·kernel·kernel), padded by zeros. Backward computes
// the copy again instead of keeping it.
Variable unfold(const Variable& x, const WindowOptions2d& windows);

struct ConvolutionOptions {
  std::int64_t stride = 1, padding = 0;
};
// y[b, o, i, j] = bias[o] + Σ_c,u,v weight[o, c, u, v] · x[b, c, i·stride − padding + u, j·stride − padding + v], as
// torch.nn.functional.conv2d: x (B, C, H, W), weight (O, C, k, k), bias (O) or undefined → (B, O, OH, OW). It is one
// matrix product over all windows (unfold()). The memory layout of the result is (B, OH, OW, O).
Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias,
                const ConvolutionOptions& options = {});

// The largest pixel of each window, as torch.nn.functional.max_pool2d: x (B, C, H, W) → (B, C, OH, OW). The padding,
// at most half of the kernel, is never the largest. The gradient goes to the first of equal pixels.
Variable max_pool2d(const Variable& x, const WindowOptions2d& windows);

}  // namespace tapeformer
