#include "autograd/kernels/attention/additive_attention.h"

#include <doctest/doctest.h>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

constexpr std::int64_t kBatches = 3, kQueries = 2, kKeys = 5;
constexpr std::int32_t kLengths[] = {5, 0, 3};

// Random inputs, and the formulas of additive_attention.h in double, one number at a time.
template <class T>
struct Case {
  explicit Case(std::int64_t width) : dim(width), value_dim(width + 2) {}

  std::int64_t dim, value_dim;
  Array<T> q = random_array<T>(kBatches * kQueries * dim, 1), k = random_array<T>(kBatches * kKeys * dim, 2);
  Array<T> w = random_array<T>(dim, 3), v = random_array<T>(kBatches * kKeys * value_dim, 4);
  Array<T> dout = random_array<T>(kBatches * kQueries * value_dim, 5);
  Array<T> dweights = random_array<T>(kBatches * kQueries * kKeys, 6);
  Array<T> o{kBatches * kQueries * value_dim}, weights{kBatches * kQueries * kKeys};

  AdditiveShape shape() const { return {kBatches, kQueries, kKeys, dim, value_dim, kLengths}; }
  AdditiveInputs<T> inputs() const { return {q, k, w, v}; }

  double tanh_at(std::int64_t row, std::int64_t j, std::int64_t a) const {
    return std::tanh(double{q[row * dim + a]} + k[(row / kQueries * kKeys + j) * dim + a]);
  }
  double expected_weight(std::int64_t row, std::int64_t key) const {
    const std::int64_t length = kLengths[row / kQueries];
    if (key >= length) return 0;
    std::vector<double> scores(length, 0);
    double sum = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      for (std::int64_t a = 0; a < dim; ++a) scores[j] += w[a] * tanh_at(row, j, a);
      sum += std::exp(scores[j]);
    }
    return std::exp(scores[key]) / sum;
  }
  double value(std::int64_t row, std::int64_t j, std::int64_t d) const {
    return v[(row / kQueries * kKeys + j) * value_dim + d];
  }
  double expected_output(std::int64_t i) const {
    double sum = 0;
    for (std::int64_t j = 0; j < kKeys; ++j) {
      sum += expected_weight(i / value_dim, j) * value(i / value_dim, j, i % value_dim);
    }
    return sum;
  }
  // The gradient of the score of a key.
  double dscore(std::int64_t row, std::int64_t key) const {
    std::vector<double> g(kKeys, 0);
    double mean = 0;
    for (std::int64_t j = 0; j < kKeys; ++j) {
      g[j] = dweights[row * kKeys + j];
      for (std::int64_t d = 0; d < value_dim; ++d) g[j] += dout[row * value_dim + d] * value(row, j, d);
      mean += expected_weight(row, j) * g[j];
    }
    return expected_weight(row, key) * (g[key] - mean);
  }
  double slope(std::int64_t row, std::int64_t j, std::int64_t a) const {
    return dscore(row, j) * w[a] * (1 - std::pow(tanh_at(row, j, a), 2));
  }
};

// f(row) summed over the queries of a sentence.
template <class F>
double over_queries(std::int64_t batch, const F& f) {
  double sum = 0;
  for (std::int64_t row = batch * kQueries; row < (batch + 1) * kQueries; ++row) sum += f(row);
  return sum;
}
template <class F>
double over_keys(const F& f) {
  double sum = 0;
  for (std::int64_t j = 0; j < kKeys; ++j) sum += f(j);
  return sum;
}

}  // namespace

TEST_CASE_TEMPLATE("additive attention: forward and backward against plain loops, for every width and instruction set",
                   T, float, double) {
  static constexpr double kShort = 64 * std::numeric_limits<T>::epsilon();  // sums of up to 20 products
  for_each_simd_target([] {
    for (std::int64_t dim = 1; dim <= 18; ++dim) {
      CAPTURE(dim);
      Case<T> c(dim);
      additive_attention_forward<T>(c.o, c.weights, c.inputs(), c.shape());
      CHECK(worst_error(c.weights, [&](std::int64_t i) { return c.expected_weight(i / kKeys, i % kKeys); }) <= kShort);
      CHECK(worst_error(c.o, [&](std::int64_t i) { return c.expected_output(i); }) <= kShort);

      // What stands there already is added to.
      Array<T> dq(c.q.size(), 1), dk(c.k.size(), 1), dw(kBatches * dim, 1), dv(c.v.size(), 1);
      additive_attention_backward<T>({dq, dk, dw, dv}, c.dout, c.dweights, c.weights, c.inputs(), c.shape());
      CHECK(worst_error(dq, [&](std::int64_t i) {
              return 1 + over_keys([&](std::int64_t j) { return c.slope(i / dim, j, i % dim); });
            }) <= kShort);
      CHECK(worst_error(dk, [&](std::int64_t i) {
              return 1 + over_queries(i / dim / kKeys,
                                      [&](std::int64_t row) { return c.slope(row, i / dim % kKeys, i % dim); });
            }) <= kShort);
      CHECK(worst_error(dw, [&](std::int64_t i) {
              return 1 + over_queries(i / dim, [&](std::int64_t row) {
                       return over_keys([&](std::int64_t j) { return c.dscore(row, j) * c.tanh_at(row, j, i % dim); });
                     });
            }) <= kShort);
      CHECK(worst_error(dv, [&](std::int64_t i) {
              return 1 + over_queries(i / c.value_dim / kKeys, [&](std::int64_t row) {
                       return c.expected_weight(row, i / c.value_dim % kKeys) *
                              c.dout[row * c.value_dim + i % c.value_dim];
                     });
            }) <= kShort);
    }
  });
}

TEST_CASE("additive attention: a sentence has the same bits alone, beside others, and with more padding") {
  constexpr std::int64_t kDim = 37, kMore = 23;
  Case<float> c(kDim);
  additive_attention_forward<float>(c.o, c.weights, c.inputs(), c.shape());
  Array<float> k = random_array<float>(kMore * kDim, 7), v = random_array<float>(kMore * c.value_dim, 8);
  std::copy_n(c.k.data() + 2 * kKeys * kDim, 3 * kDim, k.data());
  std::copy_n(c.v.data() + 2 * kKeys * c.value_dim, 3 * c.value_dim, v.data());
  Array<float> o(kQueries * c.value_dim), weights(kQueries * kMore);
  additive_attention_forward<float>(o, weights, {c.q + 2 * kQueries * kDim, k, c.w, v},
                                    {1, kQueries, kMore, kDim, c.value_dim, kLengths + 2});
  CHECK(std::equal(o.data(), o.data() + o.size(), c.o.data() + 2 * kQueries * c.value_dim));
}

TEST_CASE("additive attention: the same bits for any number of threads") {
  check_same_for_any_thread_count([] {
    Case<float> c(500);
    additive_attention_forward<float>(c.o, c.weights, c.inputs(), c.shape());
    Array<float> dq(c.q.size(), 0), dk(c.k.size(), 0), dw(kBatches * c.dim, 0), dv(c.v.size(), 0);
    additive_attention_backward<float>({dq, dk, dw, dv}, c.dout, c.dweights, c.weights, c.inputs(), c.shape());
    return dk;
  });
}
