// What convolutions and pooling do with the windows of images. Images are (B, C, H, W), row-major.
#pragma once

#include <cstdint>

namespace tapeformer::kernels {

// Square windows of `kernel`·`kernel` pixels whose corners lie `stride` pixels apart, in images with `padding` pixels
// added at each edge. Window (i, j) of an image begins at the pixel (i·stride − padding, j·stride − padding).
struct ImageWindows {
  std::int64_t batch, channels, height, width;
  std::int64_t kernel, stride, padding;

  // The number of windows along an axis of `size` pixels: ⌊(size + 2·padding − kernel)/stride⌋ + 1.
  std::int64_t along(std::int64_t size) const { return (size + 2 * padding - kernel) / stride + 1; }
  std::int64_t rows() const { return along(height); }
  std::int64_t columns() const { return along(width); }
};

// Copies the pixels of all windows: x (B, C, H, W) → y (B, rows, columns, C, kernel, kernel). Padding is 0.
template <class T>
void unfold_forward(T* y, const T* x, const ImageWindows& windows);
// dx = beta·dx + the sum, for each pixel, of the places of dy to which it was copied.
template <class T>
void unfold_backward(T* dx, const T* dy, const ImageWindows& windows, T beta);

// y (B, C, rows, columns) = the largest pixel of each window, and place = its index in its plane (H·W), the first one
// of equals. Padding is never the largest, so a window needs a pixel of the image: padding ≤ kernel/2.
template <class T>
void max_pool_forward(T* y, std::int32_t* place, const T* x, const ImageWindows& windows);
// dx = beta·dx + dy at the place of each window.
template <class T>
void max_pool_backward(T* dx, const T* dy, const std::int32_t* place, const ImageWindows& windows, T beta);

}  // namespace tapeformer::kernels
