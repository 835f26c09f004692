#include "autograd/kernels/convolution/convolution.h"

#include <algorithm>

#include "autograd/kernels/elementwise/elementwise.h"
#include "core/parallel.h"
#include "core/profile.h"

namespace tapeformer::kernels {
namespace {

// Calls f(position in the window, pixel) for the part of a window within [0, size) along one axis.
template <class F>
void for_inside(std::int64_t begin, std::int64_t kernel, std::int64_t size, const F& f) {
  const std::int64_t first = std::max<std::int64_t>(0, -begin), last = std::min(kernel, size - begin);
  for (std::int64_t i = first; i < last; ++i) f(i, begin + i);
}

}  // namespace

template <class T>
void unfold_forward(T* y, const T* x, const ImageWindows& w) {
  const std::int64_t k = w.kernel, area = k * k, length = w.channels * area, plane = w.height * w.width;
  const Span span(SpanKind::kernel, "unfold_forward",
                  {.bytes = 1.0 * sizeof(T) * w.batch * w.rows() * w.columns() * length});
  parallel_for(0, w.batch * w.rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* const image = x + row / w.rows() * w.channels * plane;
      const std::int64_t top = row % w.rows() * w.stride - w.padding;
      T* const out = y + row * w.columns() * length;
      std::fill_n(out, w.padding > 0 ? w.columns() * length : 0, T{0});
      for (std::int64_t column = 0; column < w.columns(); ++column) {
        const std::int64_t left = column * w.stride - w.padding;
        for (std::int64_t c = 0; c < w.channels; ++c) {
          T* const window = out + column * length + c * area;
          for_inside(top, k, w.height, [&](std::int64_t i, std::int64_t line) {
            const T* const pixels = image + c * plane + line * w.width;
            for_inside(left, k, w.width,
                       [&](std::int64_t j, std::int64_t pixel) { window[i * k + j] = pixels[pixel]; });
          });
        }
      }
    }
  });
}

template <class T>
void unfold_backward(T* dx, const T* dy, const ImageWindows& w, T beta) {
  const std::int64_t k = w.kernel, area = k * k, length = w.channels * area, plane = w.height * w.width;
  const Span span(SpanKind::kernel, "unfold_backward",
                  {.bytes = 1.0 * sizeof(T) * w.batch * w.rows() * w.columns() * length});
  // A task owns an image, so that its sums have one order for any number of threads.
  parallel_for(0, w.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      T* const image = dx + b * w.channels * plane;
      begin_sum(image, beta, w.channels * plane);
      for (std::int64_t at = 0; at < w.rows() * w.columns(); ++at) {
        const std::int64_t top = at / w.columns() * w.stride - w.padding,
                           left = at % w.columns() * w.stride - w.padding;
        const T* const windows = dy + (b * w.rows() * w.columns() + at) * length;
        for (std::int64_t c = 0; c < w.channels; ++c) {
          for_inside(top, k, w.height, [&](std::int64_t i, std::int64_t line) {
            T* const pixels = image + c * plane + line * w.width;
            const T* const window = windows + c * area + i * k;
            for_inside(left, k, w.width, [&](std::int64_t j, std::int64_t pixel) { pixels[pixel] += window[j]; });
          });
        }
      }
    }
  });
}

template <class T>
void max_pool_forward(T* y, std::int32_t* place, const T* x, const ImageWindows& w) {
  const std::int64_t plane = w.height * w.width, windows = w.rows() * w.columns();
  const Span span(SpanKind::kernel, "max_pool_forward", {.bytes = 1.0 * sizeof(T) * w.batch * w.channels * plane});
  parallel_for(0, w.batch * w.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin * windows; at < end * windows; ++at) {
      const T* const pixels = x + at / windows * plane;
      const std::int64_t row = at % windows / w.columns(), column = at % w.columns();
      std::int64_t best = -1;
      for_inside(row * w.stride - w.padding, w.kernel, w.height, [&](std::int64_t, std::int64_t i) {
        for_inside(column * w.stride - w.padding, w.kernel, w.width, [&](std::int64_t, std::int64_t j) {
          const std::int64_t pixel = i * w.width + j;
          // A NaN is passed on.
          if (best < 0 || pixels[pixel] > pixels[best] || pixels[pixel] != pixels[pixel]) best = pixel;
        });
      });
      y[at] = pixels[best];
      place[at] = static_cast<std::int32_t>(best);
    }
  });
}

template <class T>
void max_pool_backward(T* dx, const T* dy, const std::int32_t* place, const ImageWindows& w, T beta) {
  const std::int64_t plane = w.height * w.width, windows = w.rows() * w.columns();
  const Span span(SpanKind::kernel, "max_pool_backward", {.bytes = 1.0 * sizeof(T) * w.batch * w.channels * plane});
  parallel_for(0, w.batch * w.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    begin_sum(dx + begin * plane, beta, (end - begin) * plane);
    for (std::int64_t at = begin * windows; at < end * windows; ++at) dx[at / windows * plane + place[at]] += dy[at];
  });
}

template void unfold_forward(float*, const float*, const ImageWindows&);
template void unfold_forward(double*, const double*, const ImageWindows&);
template void unfold_backward(float*, const float*, const ImageWindows&, float);
template void unfold_backward(double*, const double*, const ImageWindows&, double);
template void max_pool_forward(float*, std::int32_t*, const float*, const ImageWindows&);
template void max_pool_forward(double*, std::int32_t*, const double*, const ImageWindows&);
template void max_pool_backward(float*, const float*, const std::int32_t*, const ImageWindows&, float);
template void max_pool_backward(double*, const double*, const std::int32_t*, const ImageWindows&, double);

}  // namespace tapeformer::kernels
