#include "autograd/kernels/attention/head_transform.h"

#include <algorithm>
#include <cmath>

#include "autograd/kernels/reduce.h"
#include "autograd/kernels/scratch.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

template <class V>
struct Pair {
  V a, b;
};

// The pairs i, i + 1, … of a vector of 2·half elements, as many as a SIMD vector holds: elements i … and half + i …
struct Halves {
  template <class D, class T>
  static HWY_INLINE Pair<hn::Vec<D>> load(D d, const T* x, std::int64_t i, std::int64_t half) {
    return {HWY_NAMESPACE::load(d, x + i, half - i), HWY_NAMESPACE::load(d, x + half + i, half - i)};
  }
  template <class D, class T>
  static HWY_INLINE void store(D d, const Pair<hn::Vec<D>>& v, T* y, std::int64_t i, std::int64_t half) {
    HWY_NAMESPACE::store(d, v.a, y + i, half - i);
    HWY_NAMESPACE::store(d, v.b, y + half + i, half - i);
  }
};

// Elements 2i, 2i + 2, … and 2i + 1, 2i + 3, …
struct Interleaved {
  template <class D, class T>
  static HWY_INLINE Pair<hn::Vec<D>> load(D d, const T* x, std::int64_t i, std::int64_t half) {
    // Two vectors and no Pair: g++ does not inline a Pair's default constructor into code for NEON.
    hn::Vec<D> a, b;
    if (HWY_LIKELY(half - i >= lanes(d))) {
      hn::LoadInterleaved2(d, x + 2 * i, a, b);
    } else {
      HWY_ALIGN T buffer[2 * hn::MaxLanes(d)] = {};
      std::copy(x + 2 * i, x + 2 * half, buffer);
      hn::LoadInterleaved2(d, buffer, a, b);
    }
    return {a, b};
  }
  template <class D, class T>
  static HWY_INLINE void store(D d, const Pair<hn::Vec<D>>& v, T* y, std::int64_t i, std::int64_t half) {
    if (HWY_LIKELY(half - i >= lanes(d))) return hn::StoreInterleaved2(v.a, v.b, d, y + 2 * i);
    HWY_ALIGN T buffer[2 * hn::MaxLanes(d)];
    hn::StoreInterleaved2(v.a, v.b, d, buffer);
    std::copy(buffer, buffer + 2 * (half - i), y + 2 * i);
  }
};

// 1/√(mean x² + ε)
template <class T>
HWY_INLINE T rstd_of(const T* x, std::int64_t dim, T eps) {
  const hn::ScalableTag<T> d;
  const auto add_square = [=](std::int64_t j, auto& sums) SIMD_LAMBDA {
    const auto v = load(d, x + j, dim - j);
    sums[0] = hn::MulAdd(v, v, sums[0]);
  };
  return static_cast<T>(1 / std::sqrt(sum_vectors<1>(d, dim, add_square)[0] / dim + eps));
}

template <class T>
HWY_INLINE void normalise(T* y, const T* x, const HeadTransform<T>& how) {
  const hn::ScalableTag<T> d;
  const auto rstd = hn::Set(d, rstd_of(x, how.dim, how.eps));
  for (std::int64_t j = 0; j < how.dim; j += lanes(d)) {
    const auto x_hat = hn::Mul(load(d, x + j, how.dim - j), rstd);
    store(d, hn::Mul(x_hat, load(d, how.weight + j, how.dim - j)), y + j, how.dim - j);
  }
}

// y = x turned by the angles of `rotation` (cosines, then sines), or by minus them. y may be x.
template <class Pairs, class T>
HWY_INLINE void rotate(T* y, const T* x, const T* rotation, bool back, std::int64_t dim) {
  const hn::ScalableTag<T> d;
  const std::int64_t half = dim / 2;
  for (std::int64_t i = 0; i < half; i += lanes(d)) {
    const auto from = Pairs::load(d, x, i, half);
    const auto angle = Halves::load(d, rotation, i, half);
    const auto cosine = angle.a, sine = back ? hn::Neg(angle.b) : angle.b;
    Pairs::store(d,
                 Pair<hn::Vec<decltype(d)>>{hn::NegMulAdd(from.b, sine, hn::Mul(from.a, cosine)),
                                            hn::MulAdd(from.a, sine, hn::Mul(from.b, cosine))},
                 y, i, half);
  }
}

template <class T>
HWY_INLINE void rotate_row(T* y, const T* x, std::int64_t row, bool back, const HeadTransform<T>& how) {
  const T* const rotation = how.rotations + (how.positions ? how.positions[row] : row % how.period) * how.dim;
  for (std::int64_t head = 0; head < how.heads; ++head, y += how.dim, x += how.dim) {
    if (how.pairs == RotaryPairs::halves) {
      rotate<Halves>(y, x, rotation, back, how.dim);
    } else {
      rotate<Interleaved>(y, x, rotation, back, how.dim);
    }
  }
}

// x and y begin at row `begin`.
template <class T>
void transform_heads_forward(T* y, std::int64_t y_distance, const T* x, std::int64_t x_distance, std::int64_t begin,
                             std::int64_t end, const HeadTransform<T>& how) {
  for (std::int64_t row = begin; row < end; ++row, y += y_distance, x += x_distance) {
    for (std::int64_t at = 0; how.weight && at < how.heads * how.dim; at += how.dim) normalise(y + at, x + at, how);
    const T* const normalised = how.weight ? y : x;
    if (how.rotations) {
      rotate_row(y, normalised, row, false, how);
    } else if (y != normalised) {
      std::copy(normalised, normalised + how.heads * how.dim, y);
    }
  }
}

// The gradient g of one head's normalised vector becomes that of x; dweight is added to.
template <class T>
HWY_INLINE void normalise_backward(T* g, T* dweight, const T* x, const HeadTransform<T>& how) {
  const hn::ScalableTag<T> d;
  const std::int64_t dim = how.dim;
  const auto rstd = hn::Set(d, rstd_of(x, dim, how.eps));
  const auto x_hat = [=](std::int64_t j) SIMD_LAMBDA { return hn::Mul(load(d, x + j, dim - j), rstd); };
  const auto dx_hat = [=, weight = how.weight](std::int64_t j)
                          SIMD_LAMBDA { return hn::Mul(load(d, g + j, dim - j), load(d, weight + j, dim - j)); };
  const auto add = [=](std::int64_t j, auto& sums) SIMD_LAMBDA {
    const auto own = x_hat(j);
    sums[0] = hn::MulAdd(dx_hat(j), own, sums[0]);
    if (!dweight) return;
    store(d, hn::MulAdd(load(d, g + j, dim - j), own, load(d, dweight + j, dim - j)), dweight + j, dim - j);
  };
  const auto mean = hn::Set(d, static_cast<T>(sum_vectors<1>(d, dim, add)[0] / dim));
  for (std::int64_t j = 0; j < dim; j += lanes(d)) {
    store(d, hn::Mul(hn::NegMulAdd(x_hat(j), mean, dx_hat(j)), rstd), g + j, dim - j);
  }
}

// dx and x begin at row `begin`; dweight is the partial of these rows alone: overwritten.
template <class T>
void transform_heads_backward(T* dx, std::int64_t dx_distance, T* dweight, const T* x, std::int64_t x_distance,
                              std::int64_t begin, std::int64_t end, const HeadTransform<T>& how) {
  if (dweight) std::fill(dweight, dweight + how.dim, T{0});
  for (std::int64_t row = begin; row < end; ++row, dx += dx_distance, x += x_distance) {
    if (how.rotations) rotate_row(dx, static_cast<const T*>(dx), row, true, how);
    for (std::int64_t at = 0; how.weight && at < how.heads * how.dim; at += how.dim) {
      normalise_backward(dx + at, dweight, x + at, how);
    }
  }
}

SIMD_FLOATS(transform_heads_forward);
SIMD_FLOATS(transform_heads_backward);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {

SIMD_EXPORT(transform_heads_forward);
template <class T>
void transform_heads_forward(T* y, std::int64_t y_distance, const T* x, std::int64_t x_distance,
                             const HeadTransform<T>& how) {
  const std::int64_t cols = how.heads * how.dim;
  const Span span(SpanKind::kernel, "transform_heads_forward", {.bytes = 2.0 * sizeof(T) * how.rows * cols});
  parallel_for(0, how.rows, rows_per_chunk(cols), [&](auto row, auto end) {
    SIMD_CALL(transform_heads_forward, T)
    (y + row * y_distance, y_distance, x + row * x_distance, x_distance, row, end, how);
  });
}

SIMD_EXPORT(transform_heads_backward);
template <class T>
void transform_heads_backward(T* dx, std::int64_t dx_distance, T* dweight, T dweight_beta, const T* x,
                              std::int64_t x_distance, const HeadTransform<T>& how) {
  const std::int64_t cols = how.heads * how.dim;
  const Span span(SpanKind::kernel, "transform_heads_backward", {.bytes = 2.0 * sizeof(T) * how.rows * cols});
  const std::int64_t chunk_rows = rows_per_chunk(cols), chunks = chunk_count(how.rows, chunk_rows);
  const Scratch<T> memory(dweight ? chunks * how.dim : 0);
  parallel_chunks(how.rows, chunk_rows, [&](auto chunk, auto row, auto end) {
    SIMD_CALL(transform_heads_backward, T)
    (dx + row * dx_distance, dx_distance, dweight ? memory.data() + chunk * how.dim : nullptr, x + row * x_distance,
     x_distance, row, end, how);
  });
  if (dweight) sum_partials(dweight, memory.data(), chunks, how.dim, dweight_beta);
}

template void transform_heads_forward(float*, std::int64_t, const float*, std::int64_t, const HeadTransform<float>&);
template void transform_heads_forward(double*, std::int64_t, const double*, std::int64_t, const HeadTransform<double>&);
template void transform_heads_backward(float*, std::int64_t, float*, float, const float*, std::int64_t,
                                       const HeadTransform<float>&);
template void transform_heads_backward(double*, std::int64_t, double*, double, const double*, std::int64_t,
                                       const HeadTransform<double>&);

}  // namespace tapeformer::kernels
#endif
