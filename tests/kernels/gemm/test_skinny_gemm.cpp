#include "autograd/kernels/gemm/skinny_gemm.h"

#include "tests/kernels/gemm_test.h"

using namespace tapeformer;

namespace {

// Sizes with every tail of vectors and blocks of rows, and with more than one chunk.
constexpr std::int64_t kWidths[] = {0, 1, 3, 4, 17, 33, 67, 260}, kDepths[] = {0, 1, 7, 16, 33, 67, 131};

template <class T>
void check_skinny() {
  for (std::int64_t m = 1; m <= 9; ++m) {
    for (std::int64_t n : kWidths) {
      for (std::int64_t k : kDepths) {
        const auto check = [&](T alpha, T beta, std::int64_t gap) {
          check_gemm<T>(m, n, k, false, true, alpha, beta, gap, kernels::skinny_gemm<T>);
        };
        check(1, 0, 0);
        check(T{-0.5}, 1, 3);
        check(2, T{0.25}, 1);
      }
    }
  }
}

// a (m, k)·bᵀ for the rows of b (n, k) from `begin` on.
template <class T>
Array<T> columns_from(std::int64_t begin, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Array<T> a = random_array<T>(m * k, 1), b = random_array<T>(n * k, 2);
  Array<T> c(m * (n - begin));
  kernels::skinny_gemm<T>(c, n - begin, {a, k}, {b + begin * k, k, true}, m, n - begin, k, 1, 0);
  return c;
}

template <class T>
void check_same_bits() {
  for (std::int64_t m : {1, 2, 4, 7}) {
    const std::int64_t n = 300, k = 517;
    CAPTURE(m);
    const auto all = [&] { return columns_from<T>(0, m, n, k); };
    check_same_for_any_thread_count(all);
    const Array<T> expected = all();
    Array<T> inside(0);
    parallel_for(0, 2, 1, [&](std::int64_t i, std::int64_t) {
      if (i == 1) inside = all();
    });
    CHECK(same_bits(inside, expected));
    for (std::int64_t begin : {1, 5, 63, 299}) {
      const Array<T> rest = columns_from<T>(begin, m, n, k);
      int wrong = 0;
      for (std::int64_t i = 0; i < rest.size(); ++i) {
        wrong += rest[i] != expected[i / (n - begin) * n + begin + i % (n - begin)];
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace

TEST_CASE("skinny_gemm: every size of tail against plain sums, with every instruction set") {
  for_each_simd_target([] {
    check_skinny<float>();
    check_skinny<double>();
  });
}

TEST_CASE("skinny_gemm: the same bits for any number of threads, inside a parallel loop and for part of the columns") {
  check_same_bits<float>();
  check_same_bits<double>();
}

TEST_CASE("gemm: products with few rows have the same bits inside a parallel loop") {
  const std::int64_t n = 3000, k = 300;
  const Array<float> a = random_array<float>(8 * k, 1), b = random_array<float>(n * k, 2);
  for (std::int64_t m = 1; m <= 8; ++m) {
    CAPTURE(m);
    const auto product = [&] {
      Array<float> c(m * n);
      kernels::gemm<float>(c, n, {a, k}, {b, k, true}, m, n, k, 1, 0);
      return c;
    };
    const Array<float> expected = product();
    Array<float> inside(0);
    parallel_for(0, 2, 1, [&](std::int64_t i, std::int64_t) {
      if (i == 1) inside = product();
    });
    CHECK(same_bits(inside, expected));
  }
}
