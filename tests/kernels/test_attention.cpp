#include "autograd/kernels/attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/kernels/dropout.h"
#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using kernels::AttentionShape;
using kernels::AttentionStrides;

namespace {

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

// All that goes in and comes out of attention in one case, the gradients included.
template <class T>
struct Attention {
  AttentionShape shape;
  std::vector<std::int32_t> lengths;
  Operand<T> q, k, v, o, dout, dq, dk, dv;
  std::vector<T> log_sum_exp;

  Attention(AttentionShape s, std::vector<std::int32_t> key_lengths, Place place)
      : shape(s),
        lengths(std::move(key_lengths)),
        q(place, s.batches, s.heads, s.queries, s.query_dim),
        k(place, s.batches, s.heads, s.keys, s.query_dim),
        v(place, s.batches, s.heads, s.keys, s.value_dim),
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

  const AttentionShape& with_lengths() {
    shape.key_lengths = lengths.empty() ? nullptr : lengths.data();
    return shape;
  }
  void forward() {
    kernels::attention_forward(o.data(), o.strides, log_sum_exp.data(), q.data(), q.strides, k.data(), k.strides,
                               v.data(), v.strides, with_lengths());
  }
  void backward(T dq_beta = 0, T dk_beta = 0, T dv_beta = 0) {
    kernels::attention_backward<T>({dq.data(), dq.strides, dq_beta}, {dk.data(), dk.strides, dk_beta},
                                   {dv.data(), dv.strides, dv_beta}, dout.data(), dout.strides, o.data(), o.strides,
                                   log_sum_exp.data(), q.data(), q.strides, k.data(), k.strides, v.data(), v.strides,
                                   with_lengths());
  }

  std::int64_t visible(std::int64_t batch, std::int64_t query) const {
    std::int64_t keys = lengths.empty() ? shape.keys : lengths[batch];
    if (shape.causal) keys = std::min(keys, query + shape.keys - shape.queries + 1);
    return std::max<std::int64_t>(0, keys);
  }
  double dropout_factor(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::uint64_t index = ((b * shape.heads + h) * shape.queries + i) * shape.keys + j;
    const bool kept = shape.dropout_key.words(index / 4)[index % 4] >= kernels::dropout_threshold(shape.dropout);
    return kept ? 1 / (1 - shape.dropout) : 0;
  }
};

double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// The definition, one query at a time, with its derivative; overwrites outputs and gradients.
void reference(Attention<double>& a) {
  const AttentionShape& s = a.shape;
  for (auto* operand : {&a.o, &a.dq, &a.dk, &a.dv}) std::fill(operand->values.begin(), operand->values.end(), 0.0);
  for (std::int64_t b = 0; b < s.batches; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t n = a.visible(b, i);
        const double *q = a.q.row(b, h, i), *dout = a.dout.row(b, h, i);
        std::vector<double> p(n), dp(n);
        double sum = 0, weighted = 0;
        for (std::int64_t j = 0; j < n; ++j) sum += p[j] = std::exp(s.scale * dot(q, a.k.row(b, h, j), s.query_dim));
        a.log_sum_exp[(b * s.heads + h) * s.queries + i] = std::log(sum);
        for (std::int64_t j = 0; j < n; ++j) {
          p[j] /= sum;
          const double factor = a.dropout_factor(b, h, i, j);
          for (std::int64_t c = 0; c < s.value_dim; ++c) {
            a.o.row(b, h, i)[c] += p[j] * factor * a.v.row(b, h, j)[c];
            a.dv.row(b, h, j)[c] += p[j] * factor * dout[c];
          }
          dp[j] = factor * dot(dout, a.v.row(b, h, j), s.value_dim);
          weighted += p[j] * dp[j];
        }
        for (std::int64_t j = 0; j < n; ++j) {
          const double ds = s.scale * p[j] * (dp[j] - weighted);
          for (std::int64_t c = 0; c < s.query_dim; ++c) {
            a.dq.row(b, h, i)[c] += ds * a.k.row(b, h, j)[c];
            a.dk.row(b, h, j)[c] += ds * q[c];
          }
        }
      }
    }
  }
}

// Every element of every head within `tolerance` of the expected ones, relative to the largest of them (1 at least).
template <class T>
void check_close(const char* name, const Operand<T>& got, const Operand<double>& expected, const AttentionShape& s,
                 std::int64_t rows, std::int64_t dim) {
  const double tolerance = sizeof(T) == 4 ? 3e-6 : 1e-14;
  double worst = 0, largest = 1;
  for (std::int64_t b = 0; b < s.batches; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t t = 0; t < rows; ++t) {
        for (std::int64_t c = 0; c < dim; ++c) {
          const double error = std::abs(got.row(b, h, t)[c] - expected.row(b, h, t)[c]);
          if (!(error <= worst)) worst = error;  // a NaN stays
          largest = std::max(largest, std::abs(expected.row(b, h, t)[c]));
        }
      }
    }
  }
  CHECK_MESSAGE(worst <= tolerance * largest, name);
}

template <class T>
void check_against_reference(const AttentionShape& shape, const std::vector<std::int32_t>& lengths, Place place) {
  CAPTURE(shape.queries);
  CAPTURE(shape.keys);
  CAPTURE(shape.query_dim);
  CAPTURE(shape.causal);
  CAPTURE(shape.dropout);
  CAPTURE(lengths.size());
  CAPTURE(sizeof(T));
  Attention<T> got(shape, lengths, place);
  Attention<double> expected(shape, lengths, place);
  const auto copy = [](const Operand<T>& from, Operand<double>& to) {
    to.values.assign(from.values.begin(), from.values.end());
  };
  copy(got.q, expected.q), copy(got.k, expected.k), copy(got.v, expected.v), copy(got.dout, expected.dout);
  got.forward();
  got.backward();
  reference(expected);

  const std::int64_t rows = shape.queries, keys = shape.keys;
  check_close("o", got.o, expected.o, shape, rows, shape.value_dim);
  check_close("dq", got.dq, expected.dq, shape, rows, shape.query_dim);
  check_close("dk", got.dk, expected.dk, shape, keys, shape.query_dim);
  check_close("dv", got.dv, expected.dv, shape, keys, shape.value_dim);
  for (std::size_t i = 0; i < got.log_sum_exp.size(); ++i) {
    const double want = expected.log_sum_exp[i];
    const bool close = std::isinf(want) ? got.log_sum_exp[i] == want
                                        : std::abs(got.log_sum_exp[i] - want) <= (sizeof(T) == 4 ? 2e-6 : 1e-14) * 8;
    REQUIRE_MESSAGE(close, "log_sum_exp ", i, ": ", got.log_sum_exp[i], ", expected ", want);
  }
}

AttentionShape shape_of(std::int64_t batches, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                        std::int64_t query_dim, std::int64_t value_dim, bool causal, double dropout = 0) {
  AttentionShape shape{batches, heads, queries, keys, query_dim, value_dim, 1 / std::sqrt(query_dim), causal};
  shape.dropout = dropout;
  shape.dropout_key = {.seed = 11, .step = 3, .micro_step = 1, .stream = 4};
  return shape;
}

template <class T>
void check_many_shapes() {
  const std::int64_t sizes[][4] = {{1, 1, 8, 8},      {5, 5, 3, 7},     {64, 64, 32, 32}, {65, 65, 16, 24},
                                   {130, 130, 8, 16}, {200, 77, 5, 4},  {1, 150, 64, 64}, {7, 150, 9, 9},
                                   {70, 133, 20, 20}, {150, 40, 12, 12}};
  Place place = Place::heads_apart;
  for (const auto& [queries, keys, query_dim, value_dim] : sizes) {
    const auto n = static_cast<std::int32_t>(keys);
    const std::vector<std::int32_t> lengths{n, 0, (n + 1) / 2};
    for (bool causal : {false, true}) {
      for (double dropout : {0.0, 0.3}) {
        const AttentionShape shape = shape_of(3, 2, queries, keys, query_dim, value_dim, causal, dropout);
        check_against_reference<T>(shape, {}, place);
        check_against_reference<T>(shape, lengths, place);
        place = static_cast<Place>((static_cast<int>(place) + 1) % 3);
      }
    }
  }
}

void check_beta(const AttentionShape& shape, const std::vector<std::int32_t>& lengths) {
  Attention<double> fresh(shape, lengths, Place::packed), added(shape, lengths, Place::packed);
  const double beta[] = {1, 0.5, 2};
  Operand<double>* const gradients[] = {&added.dq, &added.dk, &added.dv};
  const Operand<double>* const expected[] = {&fresh.dq, &fresh.dk, &fresh.dv};
  for (auto* gradient : gradients) std::fill(gradient->values.begin(), gradient->values.end(), 8.0);
  fresh.forward(), added.forward();
  fresh.backward();
  added.backward(beta[0], beta[1], beta[2]);
  for (int g = 0; g < 3; ++g) {
    int wrong = 0;
    for (std::size_t i = 0; i < gradients[g]->values.size(); ++i) {
      const double value = expected[g]->values[i];
      const double want = std::isnan(value) ? 8 : 8 * beta[g] + value;
      wrong += !(std::abs(gradients[g]->values[i] - want) <= 1e-13);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("attention: values and gradients against the definition, under every instruction set") {
  for_each_simd_target([] {
    check_many_shapes<float>();
    check_many_shapes<double>();
  });
}

TEST_CASE_TEMPLATE("attention: few heads over many keys, whose backward goes by ranges of keys", T, float, double) {
  check_against_reference<T>(shape_of(1, 2, 30, 1100, 8, 12, false, 0.2), {1030}, Place::packed);
  check_against_reference<T>(shape_of(2, 1, 600, 600, 8, 8, true, 0.1), {600, 300}, Place::packed);
  check_against_reference<T>(shape_of(1, 1, 100, 1025, 4, 4, true), {}, Place::heads_apart);
  check_against_reference<T>(shape_of(1, 1, 700, 550, 4, 4, true), {}, Place::side_by_side);
}

TEST_CASE("attention: gradients match finite differences") {
  Attention<double> a(shape_of(2, 2, 5, 7, 4, 3, true, 0.2), {6, 7}, Place::side_by_side);
  a.forward();
  a.backward();
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

TEST_CASE("attention: gradients honour beta and leave what lies between the heads alone") {
  check_beta(shape_of(2, 3, 70, 90, 8, 8, true), {20, 90});
  check_beta(shape_of(2, 1, 70, 1100, 8, 8, true), {600, 1090});
}

TEST_CASE("attention: a gradient that is not wanted is not touched, and the others are the same") {
  for (int only = 0; only < 3; ++only) {
    Attention<float> all(shape_of(1, 2, 9, 9, 8, 8, true), {}, Place::heads_apart), one = all;
    all.forward(), one.forward();
    all.backward();
    const auto wanted = [&](int which, Operand<float>& gradient) {
      return kernels::AttentionGradient<float>{only == which ? gradient.data() : nullptr, gradient.strides, 0};
    };
    kernels::attention_backward(wanted(0, one.dq), wanted(1, one.dk), wanted(2, one.dv), one.dout.data(),
                                one.dout.strides, one.o.data(), one.o.strides, one.log_sum_exp.data(), one.q.data(),
                                one.q.strides, one.k.data(), one.k.strides, one.v.data(), one.v.strides,
                                one.with_lengths());
    if (only == 0) CHECK(one.dq.values == all.dq.values);
    if (only == 1) CHECK(one.dk.values == all.dk.values);
    if (only == 2) CHECK(one.dv.values == all.dv.values);
  }
}

TEST_CASE("attention: the same bits for any number of threads, for one head as for many") {
  for (const auto& shape : {shape_of(2, 3, 130, 130, 32, 32, true, 0.1), shape_of(1, 1, 64, 700, 64, 64, false),
                            shape_of(1, 1, 300, 300, 64, 64, true), shape_of(1, 4, 1, 500, 64, 64, true),
                            shape_of(1, 2, 130, 1300, 32, 32, true, 0.1)}) {
    check_same_for_any_thread_count([&] {
      Attention<float> a(shape, {}, Place::packed);
      a.forward();
      a.backward();
      std::vector<float> results = a.log_sum_exp;
      for (const auto* part : {&a.o, &a.dq, &a.dk, &a.dv}) {
        results.insert(results.end(), part->values.begin(), part->values.end());
      }
      Array<float> array(results.size());
      std::copy(results.begin(), results.end(), array.data());
      return array;
    });
  }
}

TEST_CASE("attention: scores far apart neither overflow nor lose the largest") {
  Attention<float> a(shape_of(1, 1, 3, 40, 1, 1, false), {}, Place::heads_apart);
  a.q.values = {300, -300, 0};
  for (int j = 0; j < 40; ++j) a.k.values[j] = static_cast<float>(j - 20), a.v.values[j] = static_cast<float>(j);
  a.forward();
  CHECK(a.o.values[0] == 39);
  CHECK(a.o.values[1] == 0);
  CHECK(a.o.values[2] == doctest::Approx(19.5));
  CHECK(a.log_sum_exp[0] == 300 * 19);
  CHECK(a.log_sum_exp[1] == 300 * 20);
  CHECK(a.log_sum_exp[2] == doctest::Approx(std::log(40.0)));
}
