#include "autograd/kernels/reduce.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

struct Shape {
  std::int64_t outer, middle, inner;
};

// Small sizes, even and odd, and sizes that are cut into pieces along each axis.
std::vector<Shape> shapes() {
  std::vector<Shape> shapes{{1, 200001, 1}, {3, 70000, 1}, {20000, 3, 1}, {1, 1000, 768}, {1, 5, 9001},
                            {2, 300, 65},   {1, 9001, 3},  {3000, 2, 7},  {0, 3, 4},      {3, 4, 0}};
  for (std::int64_t n = 1; n <= 70; ++n) {
    shapes.push_back({1 + n % 3, n, 1});
    shapes.push_back({1 + n % 3, 1 + n % 11, n});
  }
  return shapes;
}

}  // namespace

TEST_CASE_TEMPLATE("sum_axis: every axis, with every beta", T, float, double) {
  for_each_simd_target([] {
    for (const Shape& shape : shapes()) {
      const std::int64_t outer = shape.outer, middle = shape.middle, inner = shape.inner;
      CAPTURE(middle);
      CAPTURE(inner);
      const Array<T> x = random_array<T>(outer * middle * inner, 1, 0, 1);
      Array<long double> expected(outer * inner, 0);
      for (std::int64_t i = 0; i < x.size(); ++i) expected[i / inner / middle * inner + i % inner] += x[i];
      // All numbers have one sign, so each addition has at most half a unit of rounding error.
      const double tolerance = std::numeric_limits<T>::epsilon() * (inner == 1 ? 34 : 64);
      check_accumulates<T>(
          outer * inner, [&](T* out, T beta) { sum_axis<T>(out, x, outer, middle, inner, beta); },
          [&](std::int64_t i) { return expected[i]; }, tolerance);
    }
  });
}

TEST_CASE("sum_axis: an empty sum is zero") {
  check_accumulates<float>(
      5, [](float* out, float beta) { sum_axis<float>(out, nullptr, 1, 0, 5, beta); }, [](std::int64_t) { return 0; });
  check_accumulates<double>(
      5, [](double* out, double beta) { sum_axis<double>(out, nullptr, 5, 0, 1, beta); },
      [](std::int64_t) { return 0; });
}

TEST_CASE_TEMPLATE("max_middle: the maximum and the first place that has it", T, float, double) {
  for_each_simd_target([] {
    for (const Shape& shape : shapes()) {
      const std::int64_t outer = shape.outer, middle = shape.middle, inner = shape.inner;
      CAPTURE(middle);
      CAPTURE(inner);
      Array<T> x = random_array<T>(outer * middle * inner, 1);
      for (std::int64_t i = 0; i < x.size(); ++i) x[i] = std::round(3 * x[i]);  // many ties
      Array<T> out(outer * inner);
      Array<std::int32_t> argmax(outer * inner, -1);
      max_middle<T>(out, argmax, x, outer, middle, inner);
      bool right = true;
      for (std::int64_t i = 0; i < out.size(); ++i) {
        const T* const column = x.data() + i / inner * middle * inner + i % inner;
        std::int64_t first = 0;
        for (std::int64_t k = 1; k < middle; ++k) first = column[k * inner] > column[first * inner] ? k : first;
        right = right && out[i] == column[first * inner] && argmax[i] == first;
      }
      CHECK(right);
    }
  });
}

TEST_CASE_TEMPLATE("max_middle: the gradient goes to the place of the maximum", T, float, double) {
  for_each_simd_target([] {
    for (const Shape& shape : shapes()) {
      const std::int64_t outer = shape.outer, middle = shape.middle, inner = shape.inner;
      const Array<T> dy = random_array<T>(outer * inner, 1);
      Array<std::int32_t> argmax(outer * inner, 0);
      RandomStream random(RandomKey{.seed = 2});
      for (std::int64_t i = 0; i < argmax.size(); ++i) argmax[i] = static_cast<std::int32_t>(random.below(middle));
      check_accumulates<T>(
          outer * middle * inner,
          [&](T* dx, T beta) { max_middle_backward<T>(dx, dy, argmax, outer, middle, inner, beta); },
          [&](std::int64_t i) {
            const std::int64_t to = i / inner / middle * inner + i % inner;
            return i / inner % middle == argmax[to] ? dy[to] : T{0};
          });
    }
  });
}

TEST_CASE_TEMPLATE("max_middle: the maximum of a row with NaN is NaN, of -inf alone -inf", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for_each_simd_target([&] {
    for (std::int64_t n = 1; n <= 40; ++n) {
      for (std::int64_t inner : {1, 3}) {
        Array<T> x(n * inner, -infinity), out(inner);
        Array<std::int32_t> argmax(inner, -1);
        max_middle<T>(out, argmax, x, 1, n, inner);
        CHECK(out[0] == -infinity);
        CHECK(argmax[0] == 0);
        x[n / 2 * inner] = nan;
        x[(n - 1) * inner] = n % 2 ? nan : infinity;
        max_middle<T>(out, argmax, x, 1, n, inner);
        const bool found = n > 2 || n % 2 == 1;
        CHECK(std::isnan(out[0]) == found);
        if (found) CHECK(argmax[0] == n / 2);
      }
    }
  });
}

TEST_CASE_TEMPLATE("sum_of_squares: in double, whatever the length", T, float, double) {
  for_each_simd_target([] {
    for (std::int64_t n : test_sizes()) {
      const Array<T> x = random_array<T>(n, 1);
      long double expected = 0;
      for (std::int64_t i = 0; i < n; ++i) expected += static_cast<long double>(x[i]) * x[i];
      CHECK(difference(sum_of_squares<T>(x, n), expected) <= 1e-14 * static_cast<double>(expected));
    }
  });
}

TEST_CASE_TEMPLATE("reductions: the same bits for any number of threads", T, float, double) {
  const std::int64_t n = 5 * kGrain + 3;
  const Array<T> x = random_array<T>(n, 1);
  for_each_simd_target([&] {
    check_same_for_any_thread_count([&] {
      Array<T> out(300, 0);
      sum_axis<T>(out, x, 1, n / 200, 200, 0);
      sum_axis<T>(out.data() + 200, x, 1, n, 1, 0);
      sum_axis<T>(out.data() + 201, x, 3, n / 3, 1, 0);
      out[250] = static_cast<T>(sum_of_squares<T>(x, n));
      return out;
    });
  });
}
