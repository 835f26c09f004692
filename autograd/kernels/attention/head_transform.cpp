#include "autograd/kernels/attention/head_transform.h"

#include <algorithm>
#include <utility>

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

// Heads are normalised some at a time: their square roots and quotients, which take long one by one, then fill vectors.
constexpr std::int64_t kHeadsAtOnce = 64;

// A head of a row, where it begins in the row, and the row's rotation (cosines, then sines; null: none).
template <class T>
struct HeadPlace {
  std::int64_t row, at;
  const T* rotation;
};

// Asks the CPU for the head at this place of a row that comes soon; x begins at row `begin`. Rows of a part of a wider
// matrix end too soon for it to foresee them. By force inline: see prefetch_panel() in bf16_gemm.cpp.
template <class T>
HWY_INLINE void prefetch_head(const T* x, std::int64_t distance, std::int64_t begin, const HeadPlace<T>& place,
                              const HeadTransform<T>& how) {
  constexpr std::int64_t kRowsAhead = 24;
  const std::int64_t row = place.row + kRowsAhead;
  if (row >= how.rows) return;
  for (std::int64_t j = 0; j < how.dim; j += kCacheLine / sizeof(T)) {
    __builtin_prefetch(x + (row - begin) * distance + place.at + j);
  }
}

// Calls f(places, count) for the heads of the rows begin to end − 1, at most kHeadsAtOnce of them at a time.
template <class T, class F>
HWY_INLINE void for_heads(std::int64_t begin, std::int64_t end, const HeadTransform<T>& how, const F& f) {
  HeadPlace<T> places[kHeadsAtOnce];
  std::int64_t count = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t place = how.positions ? how.positions[row] : row % how.period;
    const T* const rotation = how.rotations ? how.rotations + place * how.dim : nullptr;
    for (std::int64_t at = 0; at < how.heads * how.dim; at += how.dim) {
      places[count++] = {row, at, rotation};
      if (count == kHeadsAtOnce) f(places, std::exchange(count, 0));
    }
  }
  if (count > 0) f(places, count);
}

// Σ x² of one head.
template <class T>
HWY_INLINE double sum_of_head(const T* x, std::int64_t dim) {
  const hn::ScalableTag<T> d;
  const auto add_square = [=](std::int64_t j, auto& sums) SIMD_LAMBDA {
    const auto v = load(d, x + j, dim - j);
    sums[0] = hn::MulAdd(v, v, sums[0]);
  };
  return sum_vectors<1>(d, dim, add_square)[0];
}

// to = f(d, sum) of `count` sums, rounded to T; d is the tag of vectors of double.
template <class T, class F>
HWY_INLINE void map_sums(T* to, const double* sums, std::int64_t count, const F& f) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> rounded;
  for (std::int64_t i = 0; i < count; i += lanes(d)) {
    const auto value = f(d, load(d, sums + i, count - i));
    if constexpr (sizeof(T) == sizeof(double)) {
      store(rounded, value, to + i, count - i);
    } else {
      store(rounded, hn::DemoteTo(rounded, value), to + i, count - i);
    }
  }
}

// 1/√(mean x² + ε) of each head; x begins at row `begin`.
template <class T>
HWY_INLINE void rstd_of_heads(T* rstd, const T* x, std::int64_t x_distance, std::int64_t begin,
                              const HeadPlace<T>* places, std::int64_t count, const HeadTransform<T>& how) {
  double sums[kHeadsAtOnce];
  for (std::int64_t i = 0; i < count; ++i) {
    prefetch_head(x, x_distance, begin, places[i], how);
    sums[i] = sum_of_head(x + (places[i].row - begin) * x_distance + places[i].at, how.dim);
  }
  const auto rstd_of = [dim = static_cast<double>(how.dim), eps = how.eps](auto d, auto sum) SIMD_LAMBDA {
    return hn::Div(hn::Set(d, 1), hn::Sqrt(hn::Add(hn::Div(sum, hn::Set(d, dim)), hn::Set(d, eps))));
  };
  map_sums(rstd, sums, count, rstd_of);
}

// y = n turned by the angles of `rotation` (cosines, then sines), or by minus them. Here n = weight·x·rstd, or x where
// weight is null. y may be x.
template <class Pairs, class T>
HWY_INLINE void rotate(T* y, const T* x, const T* weight, T rstd, const T* rotation, bool back, std::int64_t dim) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t half = dim / 2;
  for (std::int64_t i = 0; i < half; i += lanes(d)) {
    auto n = Pairs::load(d, x, i, half);
    if (weight) {
      const auto factor = Pairs::load(d, weight, i, half);
      const V by = hn::Set(d, rstd);
      n = Pair<V>{hn::Mul(hn::Mul(n.a, by), factor.a), hn::Mul(hn::Mul(n.b, by), factor.b)};
    }
    const auto angle = Halves::load(d, rotation, i, half);
    const V cosine = angle.a, sine = back ? hn::Neg(angle.b) : angle.b;
    Pairs::store(d,
                 Pair<V>{hn::NegMulAdd(n.b, sine, hn::Mul(n.a, cosine)), hn::MulAdd(n.a, sine, hn::Mul(n.b, cosine))},
                 y, i, half);
  }
}

// The same for the kind of pairs; without rotation y = n.
template <class T>
HWY_INLINE void transform_head(T* y, const T* x, const T* weight, T rstd, const T* rotation, bool back,
                               const HeadTransform<T>& how) {
  const std::int64_t dim = how.dim;
  if (!rotation && !weight) {
    if (y != x) std::copy(x, x + dim, y);
  } else if (!rotation) {
    const auto scaled = [rstd](auto d, auto x, auto w) SIMD_LAMBDA { return hn::Mul(hn::Mul(x, hn::Set(d, rstd)), w); };
    map(y, T{0}, dim, scaled, x, weight);
  } else if (how.pairs == RotaryPairs::halves) {
    rotate<Halves>(y, x, weight, rstd, rotation, back, dim);
  } else {
    rotate<Interleaved>(y, x, weight, rstd, rotation, back, dim);
  }
}

// x and y begin at row `begin`.
template <class T>
void transform_heads_forward(T* y, std::int64_t y_distance, const T* x, std::int64_t x_distance, std::int64_t begin,
                             std::int64_t end, const HeadTransform<T>& how) {
  for_heads(begin, end, how, [&](const HeadPlace<T>* places, std::int64_t count) SIMD_LAMBDA {
    T rstd[kHeadsAtOnce];
    if (how.weight) rstd_of_heads(rstd, x, x_distance, begin, places, count, how);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto [row, at, rotation] = places[i];
      if (!how.weight) prefetch_head(x, x_distance, begin, places[i], how);
      transform_head(y + (row - begin) * y_distance + at, x + (row - begin) * x_distance + at, how.weight,
                     how.weight ? rstd[i] : T{1}, rotation, false, how);
    }
  });
}

// The parts of the gradient of one head's norm; g is the gradient of the normalised vector.
template <class T>
struct NormGradient {
  T *g, *dweight;
  const T *x, *weight;
  T rstd;
  std::int64_t dim;

  // Σ g·weight·x̂; dweight, unless it is null, is added to.
  HWY_INLINE double sum() const {
    const hn::ScalableTag<T> d;
    const auto add = [this, d](std::int64_t j, auto& sums) SIMD_LAMBDA {
      const auto own = x_hat(d, j);
      sums[0] = hn::MulAdd(dx_hat(d, j), own, sums[0]);
      if (!dweight) return;
      store(d, hn::MulAdd(load(d, g + j, dim - j), own, load(d, dweight + j, dim - j)), dweight + j, dim - j);
    };
    return sum_vectors<1>(d, dim, add)[0];
  }
  // g becomes the gradient of x.
  HWY_INLINE void write(T mean) const {
    const hn::ScalableTag<T> d;
    for (std::int64_t j = 0; j < dim; j += lanes(d)) {
      const auto out = hn::NegMulAdd(x_hat(d, j), hn::Set(d, mean), dx_hat(d, j));
      store(d, hn::Mul(out, hn::Set(d, rstd)), g + j, dim - j);
    }
  }

 private:
  template <class D>
  HWY_INLINE hn::Vec<D> x_hat(D d, std::int64_t j) const {
    return hn::Mul(load(d, x + j, dim - j), hn::Set(d, rstd));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> dx_hat(D d, std::int64_t j) const {
    return hn::Mul(load(d, g + j, dim - j), load(d, weight + j, dim - j));
  }
};

// dx and x begin at row `begin`; dweight is the partial of these rows alone: overwritten.
template <class T>
void transform_heads_backward(T* dx, std::int64_t dx_distance, T* dweight, const T* x, std::int64_t x_distance,
                              std::int64_t begin, std::int64_t end, const HeadTransform<T>& how) {
  if (dweight) std::fill(dweight, dweight + how.dim, T{0});
  for_heads(begin, end, how, [&](const HeadPlace<T>* places, std::int64_t count) SIMD_LAMBDA {
    const auto gradient_at = [&](const HeadPlace<T>& place) {
      return dx + (place.row - begin) * dx_distance + place.at;
    };
    for (std::int64_t i = 0; how.rotations && i < count; ++i) {
      prefetch_head<T>(dx, dx_distance, begin, places[i], how);
      T* const g = gradient_at(places[i]);
      transform_head<T>(g, g, nullptr, 1, places[i].rotation, true, how);
    }
    if (!how.weight) return;
    T rstd[kHeadsAtOnce], means[kHeadsAtOnce];
    double sums[kHeadsAtOnce];
    rstd_of_heads(rstd, x, x_distance, begin, places, count, how);
    const auto head = [&](std::int64_t i) {
      const T* const from = x + (places[i].row - begin) * x_distance + places[i].at;
      return NormGradient<T>{gradient_at(places[i]), dweight, from, how.weight, rstd[i], how.dim};
    };
    for (std::int64_t i = 0; i < count; ++i) sums[i] = head(i).sum();
    const auto mean_of = [dim = static_cast<double>(how.dim)](auto d, auto sum)
                             SIMD_LAMBDA { return hn::Div(sum, hn::Set(d, dim)); };
    map_sums(means, sums, count, mean_of);
    for (std::int64_t i = 0; i < count; ++i) head(i).write(means[i]);
  });
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
  parallel_for(0, how.rows, rows_per_chunk(2 * cols), [&](auto row, auto end) {
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
