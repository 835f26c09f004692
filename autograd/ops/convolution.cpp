#include "autograd/ops/convolution.h"

#include "autograd/kernels/convolution/convolution.h"
#include "autograd/ops/helpers/op_helpers.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/views.h"

namespace tapeformer {
namespace {

// y = the pixels of each window;  dx = for each pixel the sum of dy at its copies
struct Unfold {
  static constexpr const char* kName = "unfold";
  kernels::ImageWindows windows;
  Tensor x = {};

  Tensor copy(const Tensor& source) const {
    const Tensor y = Tensor::empty(
        {windows.batch, windows.rows(), windows.columns(), windows.channels * windows.kernel * windows.kernel},
        source.dtype());
    dispatch_floating(source.dtype(),
                      [&]<class T>(T) { kernels::unfold_forward(y.data<T>(), source.data<T>(), windows); });
    return y;
  }
  Tensor forward(OpContext& context, const Tensor& in) {
    const Tensor source = in.contiguous();
    if (context.recording()) x = source;
    return copy(source);
  }
  Tensor recompute_output() const { return copy(x); }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      kernels::unfold_backward(out, g.data<T>(), windows, beta);
    });
  }
};

// y = max of each window;  dx = dy where the first largest pixel of a window is, summed over the windows
struct MaxPool2d {
  static constexpr const char* kName = "max_pool2d";
  kernels::ImageWindows windows;
  Tensor place = {};

  Tensor forward(OpContext&, const Tensor& in) {
    const Dims sizes{windows.batch, windows.channels, windows.rows(), windows.columns()};
    const Tensor source = in.contiguous(), y = Tensor::empty(sizes, in.dtype());
    place = Tensor::empty(sizes, DType::i32);
    dispatch_floating(in.dtype(), [&]<class T>(T) {
      kernels::max_pool_forward(y.data<T>(), place.data<std::int32_t>(), source.data<T>(), windows);
    });
    return y;
  }
  void backward(const Tensor& dy, GradSlot& dx) {
    write_gradient(dx, [&, g = dy.contiguous()]<class T>(T* out, T beta) {
      kernels::max_pool_backward(out, g.data<T>(), place.data<std::int32_t>(), windows, beta);
    });
  }
};

// Returns the windows of images x. Throws Error unless there is at least one.
kernels::ImageWindows windows_of(const char* op, const Variable& x, const WindowOptions2d& options) {
  const auto& [kernel, stride, padding] = options;
  check(x.value().rank() == 4, op, ": x is ", x.sizes(), ": expected images (B, C, H, W)");
  check(is_floating(x.dtype()), op, ": expected f32 or f64, got ", x.dtype());
  check(kernel >= 1 && stride >= 1 && padding >= 0, op, ": expected a kernel and a stride of at least 1 and a padding ",
        "of at least 0, got ", kernel, ", ", stride, " and ", padding);
  check(x.size(2) + 2 * padding >= kernel && x.size(3) + 2 * padding >= kernel, op, ": x is ", x.sizes(),
        ", which is smaller with a padding of ", padding, " than a window of ", kernel, " by ", kernel);
  return {x.size(0), x.size(1), x.size(2), x.size(3), kernel, stride, padding};
}

}  // namespace

Variable unfold(const Variable& x, const WindowOptions2d& windows) {
  return record(Unfold{windows_of("unfold", x, windows)}, x);
}

Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias, const ConvolutionOptions& options) {
  const Dims &image = x.sizes(), &kernels = weight.sizes();
  check(image.rank() == 4 && kernels.rank() == 4 && image[1] == kernels[1] && kernels[2] == kernels[3], "conv2d: x is ",
        image, ", weight is ", kernels, ": expected x (B, C, H, W) and weight (O, C, k, k)");
  check(!bias.defined() || bias.sizes() == Dims{kernels[0]}, "conv2d: weight is ", kernels, ", bias is ", bias.sizes(),
        ": expected bias (", kernels[0], ")");
  Tape& tape = common_tape("conv2d", {&x, &weight, &bias});
  const WindowOptions2d windows{kernels[2], options.stride, options.padding};
  const Variable columns = record(Unfold{windows_of("conv2d", x, windows)}, x.on(tape));
  const Variable matrix = reshape(weight.on(tape), {kernels[0], columns.size(3)});
  return permute(linear(columns, matrix, bias), {0, 3, 1, 2});
}

Variable max_pool2d(const Variable& x, const WindowOptions2d& windows) {
  check(2 * windows.padding <= windows.kernel, "max_pool2d: expected a padding of at most half of the kernel of ",
        windows.kernel, ", got ", windows.padding);
  return record(MaxPool2d{windows_of("max_pool2d", x, windows)}, x);
}

}  // namespace tapeformer
