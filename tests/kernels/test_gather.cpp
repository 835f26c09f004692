#include "autograd/kernels/gather.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "core/parallel.h"
#include "tests/kernels/kernel_test.h"

using namespace tapeformer;

namespace {

template <class T>
void check_gather(std::int64_t n, std::int64_t rows, std::int64_t dim) {
  CAPTURE(n);
  CAPTURE(dim);
  RandomStream random(RandomKey{.seed = 5, .stream = static_cast<std::uint64_t>(n)});
  std::vector<std::int32_t> ids(n);
  // Small ids are frequent, as in text.
  for (auto& id : ids) id = static_cast<std::int32_t>(random.below(1 + random.below(rows)));
  const auto table = random_values<T>(rows * dim, 1), dy = random_values<T>(n * dim, 2);

  std::vector<T> y(n * dim), y_expected;
  for (std::int32_t id : ids) y_expected.insert(y_expected.end(), &table[id * dim], &table[id * dim] + dim);
  kernels::gather_forward(y.data(), table.data(), ids.data(), n, dim);
  CHECK(y == y_expected);

  for (T beta : {T{0}, T{1}, T{0.5}}) {
    std::vector<T> dtable = random_values<T>(rows * dim, 3), expected = dtable;
    for (auto& value : expected) value *= beta;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < dim; ++j) expected[ids[i] * dim + j] += dy[i * dim + j];
    }
    if (beta == 0) dtable.assign(dtable.size(), std::numeric_limits<T>::quiet_NaN());
    kernels::gather_backward(dtable.data(), dy.data(), ids.data(), n, rows, dim, beta);
    CHECK(dtable == expected);  // the same additions in the same order: the same bits
  }
}

}  // namespace

TEST_CASE("gather: rows by id, and their gradient, to the bit for every number of threads") {
  const int before = thread_count();
  for (int threads : {1, 2, 3}) {
    set_thread_count(threads);
    check_gather<float>(700, 321, 128);
    check_gather<double>(1000, 50, 33);
    check_gather<float>(5, 7, 3);
    check_gather<double>(1, 1, 1);
    check_gather<float>(0, 4, 5);
  }
  set_thread_count(before);
}

TEST_CASE("gather: finds the first id that is out of range") {
  const std::vector<std::int32_t> ids{0, 4, 2, 5, -1};
  CHECK(kernels::find_out_of_range(ids.data(), 5, 6) == 4);
  CHECK(kernels::find_out_of_range(ids.data(), 5, 5) == 3);
  CHECK(kernels::find_out_of_range(ids.data(), 3, 5) == -1);
  CHECK(kernels::find_out_of_range(ids.data(), 0, 0) == -1);
}
