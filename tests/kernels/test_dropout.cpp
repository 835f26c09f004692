#include "autograd/kernels/elementwise/dropout.h"

#include <doctest/doctest.h>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

const RandomKey kKey{.seed = 11, .step = 5, .micro_step = 2, .stream = 7};

bool kept(std::int64_t i, double p) { return kKey.words(i / 4)[i % 4] >= dropout_threshold(p); }

}  // namespace

TEST_CASE_TEMPLATE("dropout: keeps by the bits of the key's sequence, to the bit, with every beta", T, float, double) {
  for_each_simd_target([] {
    for (std::int64_t n : test_sizes()) {
      const Array<T> x = random_array<T>(n, 1);
      for (double p : {0.0, 0.1, 0.5}) {
        CAPTURE(p);
        Array<T> out(n);
        dropout<T>(out, x, p, kKey, 0, n);
        CHECK(worst_error(out, [&](std::int64_t i) { return kept(i, p) ? x[i] * static_cast<T>(1 / (1 - p)) : 0; }) ==
              0);
        check_accumulates<T>(
            n, [&](T* out, T beta) { dropout<T>(out, x, p, kKey, beta, n); },
            [&](std::int64_t i) { return kept(i, p) ? x[i] / (1 - p) : 0; });
      }
    }
  });
}

TEST_CASE("dropout: keeps as many as it should, whatever their sign or value") {
  const std::int64_t n = 200000;
  for (double p : {0.1, 0.3, 0.9}) {
    Array<float> y(n, 1);
    dropout<float>(y, y, p, kKey, 0, n);
    const double share = 1 - static_cast<double>(std::count(y.data(), y.data() + n, 0.0f)) / n;
    CHECK(std::abs(share - (1 - p)) < 4 * std::sqrt(p * (1 - p) / n));
  }
}

TEST_CASE_TEMPLATE("dropout: the same bits for any number of threads", T, float, double) {
  const std::int64_t n = 3 * kGrain + 5;
  const Array<T> x = random_array<T>(n, 1);
  for_each_simd_target([&] {
    check_same_for_any_thread_count([&] {
      Array<T> out = x;
      dropout<T>(out, x, 0.2, kKey, 1, n);
      return out;
    });
  });
}
