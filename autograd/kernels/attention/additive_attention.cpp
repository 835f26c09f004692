#include "autograd/kernels/attention/additive_attention.h"

#include <algorithm>

#include "autograd/kernels/rows/softmax-inl.h"
#include "autograd/kernels/scratch.h"
#include "autograd/kernels/simd/simd-inl.h"
#include "autograd/kernels/simd/vector_math-inl.h"
#include "core/parallel.h"
#include "core/profile.h"

HWY_BEFORE_NAMESPACE();
namespace tapeformer::kernels::HWY_NAMESPACE {

// One query and the `keys` keys of its sentence that are no padding.
template <class T>
void additive_forward_row(T* o, T* weights, const AdditiveInputs<T>& in, std::int64_t keys, std::int64_t dim,
                          std::int64_t value_dim) {
  const hn::ScalableTag<T> d;
  for (std::int64_t j = 0; j < keys; ++j) {
    const T* const key = in.k + j * dim;
    const auto add = [&](std::int64_t a, auto& sums) SIMD_LAMBDA {
      const auto t = tanh(d, hn::Add(load(d, in.q + a, dim - a), load(d, key + a, dim - a)));
      sums[0] = hn::MulAdd(load(d, in.w + a, dim - a), t, sums[0]);
    };
    weights[j] = static_cast<T>(sum_vectors<1>(d, dim, add)[0]);
  }
  const double sum = sum_of_exp(weights, shift_of_row(weights, keys), keys,
                                [&](std::int64_t j, auto e) SIMD_LAMBDA { store(d, e, weights + j, keys - j); });
  const T factor = static_cast<T>(sum == 0 ? 0 : 1 / sum);
  for (std::int64_t j = 0; j < keys; ++j) weights[j] *= factor;
  for (std::int64_t a = 0; a < value_dim; a += lanes(d)) {
    auto y = hn::Zero(d);
    for (std::int64_t j = 0; j < keys; ++j) {
      y = hn::MulAdd(hn::Set(d, weights[j]), load(d, in.v + j * value_dim + a, value_dim - a), y);
    }
    store(d, y, o + a, value_dim - a);
  }
}

// The same backward; dscores is room for `keys` numbers.
template <class T>
void additive_backward_row(const AdditiveGradients<T>& gradients, T* dscores, const T* dout, const T* dweights,
                           const T* weights, const AdditiveInputs<T>& in, std::int64_t keys, std::int64_t dim,
                           std::int64_t value_dim) {
  const hn::ScalableTag<T> d;
  T mean = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    T g = dweights ? dweights[j] : T{0};
    if (dout) {
      const T* const value = in.v + j * value_dim;
      const auto add = [&](std::int64_t a, auto& sums) SIMD_LAMBDA {
        sums[0] = hn::MulAdd(load(d, dout + a, value_dim - a), load(d, value + a, value_dim - a), sums[0]);
      };
      g += static_cast<T>(sum_vectors<1>(d, value_dim, add)[0]);
      if (gradients.dv) {
        map(
            gradients.dv + j * value_dim, T{1}, value_dim,
            [by = weights[j]](auto d, auto dy) SIMD_LAMBDA { return hn::Mul(hn::Set(d, by), dy); }, dout);
      }
    }
    dscores[j] = g;
    mean += weights[j] * g;
  }
  for (std::int64_t j = 0; j < keys; ++j) dscores[j] = weights[j] * (dscores[j] - mean);
  for (std::int64_t a = 0; a < dim; a += lanes(d)) {
    const std::int64_t left = dim - a;
    const auto q = load(d, in.q + a, left), w = load(d, in.w + a, left);
    auto dq = hn::Zero(d), dw = hn::Zero(d);
    for (std::int64_t j = 0; j < keys; ++j) {
      const auto de = hn::Set(d, dscores[j]), t = tanh(d, hn::Add(q, load(d, in.k + j * dim + a, left)));
      const auto through = hn::Mul(hn::Mul(de, w), hn::NegMulAdd(t, t, hn::Set(d, 1)));
      dw = hn::MulAdd(de, t, dw);
      dq = hn::Add(dq, through);
      if (gradients.dk) {
        T* const dk = gradients.dk + j * dim + a;
        store(d, hn::Add(load(d, dk, left), through), dk, left);
      }
    }
    if (gradients.dq) store(d, hn::Add(load(d, gradients.dq + a, left), dq), gradients.dq + a, left);
    if (gradients.dw) store(d, hn::Add(load(d, gradients.dw + a, left), dw), gradients.dw + a, left);
  }
}

SIMD_FLOATS(additive_forward_row);
SIMD_FLOATS(additive_backward_row);

}  // namespace tapeformer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapeformer::kernels {
namespace {

// The keys of a sentence that are no padding.
std::int64_t keys_of(const AdditiveShape& shape, std::int64_t batch) {
  return shape.key_lengths ? std::clamp<std::int64_t>(shape.key_lengths[batch], 0, shape.keys) : shape.keys;
}

// The inputs of query i of sentence b.
template <class T>
AdditiveInputs<T> inputs_at(const AdditiveInputs<T>& in, const AdditiveShape& shape, std::int64_t b, std::int64_t i) {
  return {in.q + (b * shape.queries + i) * shape.dim, in.k + b * shape.keys * shape.dim, in.w,
          in.v + b * shape.keys * shape.value_dim};
}

template <class T>
T* advance(T* from, std::int64_t elements) {
  return from ? from + elements : nullptr;
}

std::int64_t sentences_per_chunk(const AdditiveShape& shape) {
  return rows_per_chunk(shape.queries * shape.keys * (shape.dim + shape.value_dim));
}

// Bytes that are read and written at least, `passes` times.
double bytes_of(const AdditiveShape& shape, std::size_t element, int passes) {
  return static_cast<double>(passes * shape.batches * shape.keys * (shape.dim + shape.value_dim)) *
         static_cast<double>(element);
}

}  // namespace

SIMD_EXPORT(additive_forward_row);
template <class T>
void additive_attention_forward(T* o, T* weights, const AdditiveInputs<T>& in, const AdditiveShape& shape) {
  const Span span(SpanKind::kernel, "additive_attention_forward", {.bytes = bytes_of(shape, sizeof(T), 1)});
  parallel_for(0, shape.batches, sentences_per_chunk(shape), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t keys = keys_of(shape, b);
      for (std::int64_t i = 0; i < shape.queries; ++i) {
        const std::int64_t row = b * shape.queries + i;
        T* const row_weights = weights + row * shape.keys;
        SIMD_CALL(additive_forward_row, T)
        (o + row * shape.value_dim, row_weights, inputs_at(in, shape, b, i), keys, shape.dim, shape.value_dim);
        std::fill(row_weights + keys, row_weights + shape.keys, T{0});
      }
    }
  });
}
SIMD_INSTANTIATE(additive_attention_forward);

SIMD_EXPORT(additive_backward_row);
template <class T>
void additive_attention_backward(const AdditiveGradients<T>& gradients, const T* dout, const T* dweights,
                                 const T* weights, const AdditiveInputs<T>& in, const AdditiveShape& shape) {
  const Span span(SpanKind::kernel, "additive_attention_backward", {.bytes = bytes_of(shape, sizeof(T), 3)});
  parallel_for(0, shape.batches, sentences_per_chunk(shape), [&](std::int64_t begin, std::int64_t end) {
    const Scratch<T> dscores(shape.keys);
    for (std::int64_t b = begin; b < end; ++b) {
      for (std::int64_t i = 0; i < shape.queries; ++i) {
        const std::int64_t row = b * shape.queries + i;
        SIMD_CALL(additive_backward_row, T)
        ({advance(gradients.dq, row * shape.dim), advance(gradients.dk, b * shape.keys * shape.dim),
          advance(gradients.dw, b * shape.dim), advance(gradients.dv, b * shape.keys * shape.value_dim)},
         dscores.data(), advance(dout, row * shape.value_dim), advance(dweights, row * shape.keys),
         weights + row * shape.keys, inputs_at(in, shape, b, i), keys_of(shape, b), shape.dim, shape.value_dim);
      }
    }
  });
}
SIMD_INSTANTIATE(additive_attention_backward);

}  // namespace tapeformer::kernels
#endif
