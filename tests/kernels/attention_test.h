// One case of the attention kernel: operands with any memory layout, outputs, gradients, and the definition with which
// they must agree.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/elementwise/dropout.h"
#include "tests/kernels/bf16_units.h"
#include "tests/kernels/kernel_test.h"

namespace tapeformer {

using kernels::AttentionShape;
using kernels::AttentionStrides;

// How an operand lies in memory: heads apart (B, h, T, d), heads side by side (B, T, h, d), or as the middle one of
// three in a packed projection (B, T, 3, h, d).
enum class Place { heads_apart, side_by_side, packed };

template <class T>
struct Operand {
  std::vector<T> values;
  AttentionStrides strides;
  std::int64_t start = 0;

  Operand(Place place, std::int64_t batches, std::int64_t heads, std::int64_t rows, std::int64_t dim) {
    const std::int64_t width = heads * dim * (place == Place::packed ? 3 : 1);
    values.resize(batches * rows * width);
    strides = {rows * width, width, dim};
    if (place == Place::packed) start = heads * dim;
    if (place == Place::heads_apart) strides = {rows * width, dim, rows * dim};
  }
  T* data() { return values.data() + start; }
  const T* data() const { return values.data() + start; }
  T* row(std::int64_t b, std::int64_t h, std::int64_t t) {
    return data() + b * strides.batch + h * strides.head + t * strides.row;
  }
  const T* row(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return const_cast<Operand*>(this)->row(b, h, t);
  }
};

// The masks of a case beside causality; an empty one masks nothing.
struct Masks {
  std::vector<std::int32_t> lengths = {};    // (B)
  std::vector<std::int32_t> key_begin = {};  // (B, T_q)
};

// All inputs and outputs of attention in one case, with the gradients.
template <class T>
struct Attention {
  AttentionShape shape;
  Masks masks;
  Operand<T> q, k, v, o, dout, dq, dk, dv;
  std::vector<T> log_sum_exp;

  Attention(AttentionShape s, Masks with, Place place)
      : shape(s),
        masks(std::move(with)),
        q(place, s.batches, s.heads, s.queries, s.query_dim),
        k(place, s.batches, s.kv_heads(), s.keys, s.query_dim),
        v(place, s.batches, s.kv_heads(), s.keys, s.value_dim),
        o(Place::side_by_side, s.batches, s.heads, s.queries, s.value_dim),
        dout(o),
        dq(q),
        dk(k),
        dv(v),
        log_sum_exp(s.batches * s.heads * s.queries) {
    std::uint64_t stream = 0;
    for (auto* operand : {&q, &k, &v, &dout}) operand->values = random_values<T>(operand->values.size(), ++stream);
    constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
    for (auto* operand : {&o, &dq, &dk, &dv}) std::fill(operand->values.begin(), operand->values.end(), kNaN);
    std::fill(log_sum_exp.begin(), log_sum_exp.end(), kNaN);
  }

  const AttentionShape& with_masks() {
    shape.key_lengths = masks.lengths.empty() ? nullptr : masks.lengths.data();
    shape.key_begin = masks.key_begin.empty() ? nullptr : masks.key_begin.data();
    return shape;
  }
  void forward() {
    kernels::attention_forward(o.data(), o.strides, log_sum_exp.data(), q.data(), q.strides, k.data(), k.strides,
                               v.data(), v.strides, with_masks());
  }
  void backward(T dq_beta = 0, T dk_beta = 0, T dv_beta = 0) {
    kernels::attention_backward<T>({dq.data(), dq.strides, dq_beta}, {dk.data(), dk.strides, dk_beta},
                                   {dv.data(), dv.strides, dv_beta}, dout.data(), dout.strides, o.data(), o.strides,
                                   log_sum_exp.data(), q.data(), q.strides, k.data(), k.strides, v.data(), v.strides,
                                   with_masks());
  }

  // Everything that forward and backward write, in one array.
  Array<T> results() {
    forward();
    backward();
    std::vector<T> all = log_sum_exp;
    for (const auto* operand : {&o, &dq, &dk, &dv}) {
      all.insert(all.end(), operand->values.begin(), operand->values.end());
    }
    Array<T> array(all.size());
    std::copy(all.begin(), all.end(), array.data());
    return array;
  }

  bool sees(std::int64_t batch, std::int64_t query, std::int64_t key) const {
    if (!masks.lengths.empty() && key >= masks.lengths[batch]) return false;
    if (!masks.key_begin.empty() && key < masks.key_begin[batch * shape.queries + query]) return false;
    return !shape.causal || key <= query + shape.keys - shape.queries;
  }
  double dropout_factor(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (shape.dropout == 0) return 1;
    const std::uint64_t index = ((b * shape.heads + h) * shape.queries + i) * shape.keys + j;
    const bool kept = shape.dropout_key.words(index / 4)[index % 4] >= kernels::dropout_threshold(shape.dropout);
    return kept ? 1 / (1 - shape.dropout) : 0;
  }
};

inline double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Computes outputs and gradients by the definition, one query at a time.
inline void reference(Attention<double>& a) {
  const AttentionShape& s = a.shape;
  for (auto* operand : {&a.o, &a.dq, &a.dk, &a.dv}) std::fill(operand->values.begin(), operand->values.end(), 0.0);
  for (std::int64_t b = 0; b < s.batches; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t g = h / s.group;
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t n = s.keys;
        const double *q = a.q.row(b, h, i), *dout = a.dout.row(b, h, i);
        std::vector<double> p(n), dp(n);
        double sum = 0, weighted = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          if (a.sees(b, i, j)) sum += p[j] = std::exp(s.scale * dot(q, a.k.row(b, g, j), s.query_dim));
        }
        a.log_sum_exp[(b * s.heads + h) * s.queries + i] = std::log(sum);
        for (std::int64_t j = 0; j < n; ++j) {
          if (!a.sees(b, i, j)) continue;
          p[j] /= sum;
          const double factor = a.dropout_factor(b, h, i, j);
          for (std::int64_t c = 0; c < s.value_dim; ++c) {
            a.o.row(b, h, i)[c] += p[j] * factor * a.v.row(b, g, j)[c];
            a.dv.row(b, g, j)[c] += p[j] * factor * dout[c];
          }
          dp[j] = factor * dot(dout, a.v.row(b, g, j), s.value_dim);
          weighted += p[j] * dp[j];
        }
        for (std::int64_t j = 0; j < n; ++j) {
          const double ds = s.scale * p[j] * (dp[j] - weighted);
          for (std::int64_t c = 0; c < s.query_dim; ++c) {
            a.dq.row(b, h, i)[c] += ds * a.k.row(b, g, j)[c];
            a.dk.row(b, g, j)[c] += ds * q[c];
          }
        }
      }
    }
  }
}

// The error bound under the precision in force, relative to the largest element. A product of rounded operands is off
// by up to 2^-8 of its sum of magnitudes (2^-16 with two parts), which is up to 8 for the scores here; exp hands that
// on.
template <class T>
double attention_tolerance() {
  if (sizeof(T) == 8) return 1e-14;
  switch (kernels::MatmulPrecisionScope::current()) {
    case kernels::MatmulPrecision::highest:
      return 3e-6;
    case kernels::MatmulPrecision::high:
      return 12 * 0x1p-16;
    case kernels::MatmulPrecision::medium:
    case kernels::MatmulPrecision::low:
      return 12 * 0x1p-8;
  }
  return 0;
}

// Every element of every head within `tolerance` of the expected ones, relative to the largest of them (1 at least).
template <class T>
void check_close(const char* name, const Operand<T>& got, const Operand<double>& expected, const AttentionShape& s,
                 std::int64_t heads, std::int64_t rows, std::int64_t dim) {
  const double tolerance = attention_tolerance<T>();
  double worst = 0, largest = 1;
  for (std::int64_t b = 0; b < s.batches; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < rows; ++t) {
        for (std::int64_t c = 0; c < dim; ++c) {
          worst = std::max(worst, difference(got.row(b, h, t)[c], expected.row(b, h, t)[c]));
          largest = std::max(largest, std::abs(expected.row(b, h, t)[c]));
        }
      }
    }
  }
  CHECK_MESSAGE(worst <= tolerance * largest, name);
}

inline constexpr auto each_simd_target = [](const auto& f) { for_each_simd_target(f); };
inline constexpr auto each_bf16_product = [](const auto& f) { for_each_bf16_product(f); };
inline constexpr auto once = [](const auto& f) { f(); };

// `each` calls what it is given, under one instruction set after another say; the definition is computed once.
template <class T, class Each = decltype(once)>
void check_against_reference(const AttentionShape& shape, const Masks& masks, Place place, const Each& each = once) {
  CAPTURE(shape.queries);
  CAPTURE(shape.keys);
  CAPTURE(shape.query_dim);
  CAPTURE(shape.causal);
  CAPTURE(shape.group);
  CAPTURE(shape.dropout);
  CAPTURE(masks.lengths.size());
  CAPTURE(masks.key_begin.size());
  CAPTURE(sizeof(T));
  const Attention<T> inputs(shape, masks, place);
  Attention<double> expected(shape, masks, place);
  const auto copy = [](const Operand<T>& from, Operand<double>& to) {
    to.values.assign(from.values.begin(), from.values.end());
  };
  copy(inputs.q, expected.q), copy(inputs.k, expected.k), copy(inputs.v, expected.v);
  copy(inputs.dout, expected.dout);
  reference(expected);

  each([&] {
    Attention<T> got = inputs;
    got.forward();
    got.backward();
    const std::int64_t rows = shape.queries, keys = shape.keys;
    check_close("o", got.o, expected.o, shape, shape.heads, rows, shape.value_dim);
    check_close("dq", got.dq, expected.dq, shape, shape.heads, rows, shape.query_dim);
    check_close("dk", got.dk, expected.dk, shape, shape.kv_heads(), keys, shape.query_dim);
    check_close("dv", got.dv, expected.dv, shape, shape.kv_heads(), keys, shape.value_dim);
    for (std::size_t i = 0; i < got.log_sum_exp.size(); ++i) {
      const double want = expected.log_sum_exp[i];
      const bool close = std::isinf(want) ? got.log_sum_exp[i] == want
                                          : std::abs(got.log_sum_exp[i] - want) <= attention_tolerance<T>() * 5;
      REQUIRE_MESSAGE(close, "log_sum_exp ", i, ": ", got.log_sum_exp[i], ", expected ", want);
    }
  });
}

inline AttentionShape shape_of(std::int64_t batches, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                               std::int64_t query_dim, std::int64_t value_dim, bool causal, double dropout = 0) {
  AttentionShape shape{batches, heads, queries, keys, query_dim, value_dim, 1 / std::sqrt(query_dim), causal};
  shape.dropout = dropout;
  shape.dropout_key = {.seed = 11, .step = 3, .micro_step = 1, .stream = 4};
  return shape;
}

// The same shape with fewer heads of K and V.
inline AttentionShape grouped(AttentionShape shape, std::int64_t group) {
  shape.group = group;
  return shape;
}

// Checks the gradients of a case whose forward and backward have run.
inline void check_finite_differences(Attention<double>& a) {
  const auto loss = [&] {
    a.forward();
    return dot(a.o.values.data(), a.dout.values.data(), a.o.values.size());
  };
  for (auto [x, dx] : {std::pair(&a.q, &a.dq), std::pair(&a.k, &a.dk), std::pair(&a.v, &a.dv)}) {
    for (std::size_t i = 0; i < x->values.size(); ++i) {
      const double eps = 1e-6, before = x->values[i];
      x->values[i] = before + eps;
      const double above = loss();
      x->values[i] = before - eps;
      const double below = loss();
      x->values[i] = before;
      REQUIRE(dx->values[i] == doctest::Approx((above - below) / (2 * eps)).epsilon(1e-7).scale(1));
    }
  }
}

// Each gradient becomes beta·(old value) + gradient; the memory between the heads does not change.
template <class T>
void check_beta(const AttentionShape& shape, const Masks& masks) {
  Attention<T> fresh(shape, masks, Place::packed), added(shape, masks, Place::packed);
  const T beta[] = {1, 0.5, 2};
  Operand<T>* const gradients[] = {&added.dq, &added.dk, &added.dv};
  const Operand<T>* const expected[] = {&fresh.dq, &fresh.dk, &fresh.dv};
  for (auto* gradient : gradients) std::fill(gradient->values.begin(), gradient->values.end(), T{8});
  fresh.forward(), added.forward();
  fresh.backward();
  added.backward(beta[0], beta[1], beta[2]);
  for (int g = 0; g < 3; ++g) {
    int wrong = 0;
    for (std::size_t i = 0; i < gradients[g]->values.size(); ++i) {
      const double value = expected[g]->values[i];
      const double want = std::isnan(value) ? 8 : 8 * beta[g] + value;
      wrong += !(std::abs(gradients[g]->values[i] - want) <= (sizeof(T) == 8 ? 1e-13 : 1e-4));
    }
    CHECK(wrong == 0);
  }
}

}  // namespace tapeformer
