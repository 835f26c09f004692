#include "autograd/kernels/optim/newton_schulz.h"

#include <algorithm>
#include <cmath>

#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/reduce.h"
#include "autograd/kernels/scratch.h"

namespace tapeformer::kernels {

template <class T>
void orthogonalize(T* x, std::int64_t rows, std::int64_t cols) {
  constexpr int kSteps = 5;
  constexpr T kA{3.4445}, kB{-4.7750}, kC{2.0315};
  const std::int64_t size = rows * cols, k = std::min(rows, cols);
  const T inverse = static_cast<T>(1 / std::sqrt(sum_of_squares(x, size)));
  if (std::isinf(inverse)) return fill(x, T{0}, size);
  axpby(x, inverse, x, T{0}, size);

  const Scratch<T> before(size), a(k * k), b(k * k);
  const bool wide = rows <= cols;
  for (int step = 0; step < kSteps; ++step) {
    symmetric_gemm<T>(a.data(), k, {x, cols, !wide}, {x, cols, wide}, k, std::max(rows, cols), T{1}, T{0});
    std::copy_n(a.data(), k * k, b.data());
    symmetric_gemm<T>(b.data(), k, {a.data(), k}, {a.data(), k}, k, k, kC, kB);
    std::copy_n(x, size, before.data());
    if (wide) {
      gemm<T>(x, cols, {b.data(), k}, {before.data(), cols}, rows, cols, k, T{1}, kA);
    } else {
      gemm<T>(x, cols, {before.data(), cols}, {b.data(), k}, rows, cols, k, T{1}, kA);
    }
  }
}

template void orthogonalize(float*, std::int64_t, std::int64_t);
template void orthogonalize(double*, std::int64_t, std::int64_t);

}  // namespace tapeformer::kernels
