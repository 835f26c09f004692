#include "autograd/kernels/attention/head_transform.h"

#include <doctest/doctest.h>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

struct TransformCase {
  std::int64_t dim;
  bool norm, rotation, positions;
  RotaryPairs pairs;
};

// Every case with one of norm and rotation, or both, for widths around those of vectors.
template <class Check>
void for_each_case(const Check& check) {
  for (std::int64_t dim : {2, 4, 6, 14, 16, 18, 30, 32, 34, 64, 66}) {
    for (RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::interleaved}) {
      for (int bits = 1; bits < 4; ++bits)
        check(TransformCase{dim, (bits & 1) > 0, (bits & 2) > 0, dim % 3 == 0, pairs});
    }
    check(TransformCase{dim + 1, true, false, false, RotaryPairs::halves});  // only what turns has an even width
  }
}

// More heads than the kernel normalises at a time.
constexpr std::int64_t kRows = 30, kHeads = 3, kPeriod = 5, kPlaces = 7;

// A case with its inputs, in rows that are wider than the heads.
template <class T>
struct Problem {
  TransformCase c;
  std::int64_t width = kHeads * c.dim, distance = width + 5;
  Array<T> x = random_array<T>(kRows * distance, 1), dy = random_array<T>(kRows * distance, 2);
  Array<T> weight = random_array<T>(c.dim, 3), table = random_array<T>(kPlaces * c.dim, 4, -1, 1);
  std::vector<std::int32_t> positions = {0, 6, 1, 1, 2, 5, 3, 4, 0, 6, 2, 2, 1, 3, 5,
                                         4, 0, 3, 6, 5, 1, 1, 0, 2, 3, 5, 4, 6, 2, 0};

  HeadTransform<T> how() const {
    HeadTransform<T> transform{kRows, kHeads, c.dim};
    if (c.norm) transform.weight = weight.data(), transform.eps = T(0.1);
    if (c.rotation) transform.rotations = table.data(), transform.pairs = c.pairs;
    if (c.positions) transform.positions = positions.data();
    transform.period = kPeriod;
    return transform;
  }
  // How pair i of a row turns: the places a and b of its elements in a head, and its angle's cosine and sine.
  struct Turn {
    std::int64_t a, b;
    double cosine, sine;
  };
  Turn turn(std::int64_t row, std::int64_t i) const {
    const bool halves = c.pairs == RotaryPairs::halves;
    const std::int64_t place = c.positions ? positions[row] : row % kPeriod, half = c.dim / 2;
    const T* const angles = &table[place * c.dim];
    const bool turns = c.rotation;
    return {halves ? i : 2 * i, halves ? half + i : 2 * i + 1, turns ? angles[i] : 1.0, turns ? angles[half + i] : 0.0};
  }
  double rstd(std::int64_t row, std::int64_t head) const {
    double sum = 0;
    for (std::int64_t j = 0; j < c.dim; ++j) {
      const double value = x[row * distance + head * c.dim + j];
      sum += value * value;
    }
    return 1 / std::sqrt(sum / static_cast<double>(c.dim) + 0.1);
  }
};

template <class T>
void check_case(const TransformCase& c) {
  CAPTURE(c.dim);
  CAPTURE(c.norm);
  CAPTURE(c.rotation);
  CAPTURE(c.positions);
  CAPTURE(static_cast<int>(c.pairs));
  const Problem<T> p{c};
  std::vector<double> y(kRows * p.width), dx(kRows * p.width), dweight(c.dim);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t head = 0; head < kHeads; ++head) {
      const T *const x = &p.x[row * p.distance + head * c.dim], *const dy = &p.dy[row * p.distance + head * c.dim];
      double *const to = &y[row * p.width + head * c.dim], *const dto = &dx[row * p.width + head * c.dim];
      const double rstd = c.norm ? p.rstd(row, head) : 1;
      const auto weight = [&](std::int64_t j) { return c.norm ? double{p.weight[j]} : 1.0; };
      std::vector<double> dn(c.dim);
      for (std::int64_t i = 0; i < c.dim / 2; ++i) {
        const auto turn = p.turn(row, i);
        const double a = x[turn.a] * rstd * weight(turn.a), b = x[turn.b] * rstd * weight(turn.b);
        to[turn.a] = a * turn.cosine - b * turn.sine, to[turn.b] = a * turn.sine + b * turn.cosine;
        dn[turn.a] = dy[turn.a] * turn.cosine + dy[turn.b] * turn.sine;
        dn[turn.b] = dy[turn.b] * turn.cosine - dy[turn.a] * turn.sine;
      }
      if (const std::int64_t last = c.dim - 1; c.dim % 2 > 0)
        to[last] = x[last] * rstd * weight(last), dn[last] = dy[last];
      double mean = 0;
      for (std::int64_t j = 0; c.norm && j < c.dim; ++j) {
        mean += dn[j] * weight(j) * x[j] * rstd / static_cast<double>(c.dim);
        dweight[j] += dn[j] * x[j] * rstd;
      }
      for (std::int64_t j = 0; j < c.dim; ++j) dto[j] = rstd * (dn[j] * weight(j) - x[j] * rstd * mean);
    }
  }

  const double tolerance = kTolerance<T> * 100;
  const auto at = [&](const Array<T>& rows) {
    Array<T> dense(kRows * p.width);
    for (std::int64_t i = 0; i < dense.size(); ++i) dense[i] = rows[i / p.width * p.distance + i % p.width];
    return dense;
  };
  Array<T> dense(kRows * p.width), in_place = p.x, gradient = p.dy, weight_gradient(c.dim, T{2});
  transform_heads_forward<T>(dense, p.width, p.x, p.distance, p.how());
  CHECK(worst_error(dense, [&](std::int64_t i) { return y[i]; }) <= tolerance);
  transform_heads_forward<T>(in_place, p.distance, in_place, p.distance, p.how());
  CHECK(std::equal(dense.data(), dense.data() + dense.size(), at(in_place).data()));
  transform_heads_backward<T>(gradient, p.distance, c.norm ? weight_gradient.data() : nullptr, T(0.5), p.x, p.distance,
                              p.how());
  CHECK(worst_error(at(gradient), [&](std::int64_t i) { return dx[i]; }) <= tolerance);
  if (c.norm) CHECK(worst_error(weight_gradient, [&](std::int64_t j) { return dweight[j] + 1; }) <= tolerance);
  // What lies behind the heads of a row stays as it was.
  for (std::int64_t i = 0; i < kRows * p.distance; ++i) {
    if (i % p.distance < p.width) continue;
    REQUIRE(in_place[i] == p.x[i]);
    REQUIRE(gradient[i] == p.dy[i]);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("transform_heads: values and gradients against plain loops in double", T, float, double) {
  for_each_simd_target([] { for_each_case(check_case<T>); });
}

TEST_CASE_TEMPLATE("transform_heads: the same bits for any number of threads, alone and among other rows", T, float,
                   double) {
  constexpr std::int64_t kMany = 900, kDim = 34, kWidth = 4 * kDim;
  const Array<T> x = random_array<T>(kMany * kWidth, 1), dy = random_array<T>(kMany * kWidth, 2);
  const Array<T> weight = random_array<T>(kDim, 3), table = random_array<T>(kMany * kDim, 4);
  for (RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::interleaved}) {
    HeadTransform<T> how{kMany, 4, kDim, weight, T(0.1), table, nullptr, kMany, pairs};
    check_same_for_any_thread_count([&] {
      Array<T> out(2 * kMany * kWidth + kDim);
      transform_heads_forward<T>(out, kWidth, x, kWidth, how);
      T* const dx = &out[kMany * kWidth];
      std::copy(dy.data(), dy.data() + kMany * kWidth, dx);
      transform_heads_backward<T>(dx, kWidth, dx + kMany * kWidth, 0, x, kWidth, how);
      return out;
    });
    Array<T> all(kMany * kWidth), one(kWidth);
    transform_heads_forward<T>(all, kWidth, x, kWidth, how);
    const std::int32_t place = 77;
    how.rows = 1, how.positions = &place;
    transform_heads_forward<T>(one, kWidth, &x[place * kWidth], kWidth, how);
    CHECK(std::equal(one.data(), one.data() + kWidth, &all[place * kWidth]));
  }
}
