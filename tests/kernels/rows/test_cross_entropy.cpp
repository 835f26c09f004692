#include "autograd/kernels/rows/cross_entropy.h"

#include <doctest/doctest.h>

#include <algorithm>

#include <limits>

#include "tests/kernels/kernel_test.h"

using namespace tapeformer;
using namespace tapeformer::kernels;

namespace {

template <class T>
void check_cross_entropy(std::int64_t rows, std::int64_t vocab, double smoothing, double z_loss, double cap = 0) {
  CAPTURE(rows);
  CAPTURE(vocab);
  CAPTURE(smoothing);
  CAPTURE(z_loss);
  CAPTURE(cap);
  const Array<T> logits = random_array<T>(rows * vocab, 1, -8, 8), dloss = random_array<T>(rows, 2);
  Array<std::int32_t> targets(rows, kIgnoredTarget);
  RandomStream random(RandomKey{.seed = 3});
  for (std::int64_t i = 0; i < rows; ++i) {
    if (i % 4 != 1) targets[i] = static_cast<std::int32_t>(random.below(vocab));
  }
  Array<long double> loss_expected(rows, 0), log_sum_exp_expected(rows, 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* const row = logits.data() + i * vocab;
    long double sum = 0, smooth = 0;
    for (std::int64_t v = 0; v < vocab; ++v) sum += std::exp(double{row[v]});
    const long double log_sum = log_sum_exp_expected[i] = std::log(sum);
    if (targets[i] < 0) continue;
    for (std::int64_t v = 0; v < vocab; ++v) smooth += (row[v] - log_sum) / vocab;
    loss_expected[i] = -(1 - smoothing) * (row[targets[i]] - log_sum) - smoothing * smooth + z_loss * log_sum * log_sum;
  }

  Array<T> loss(rows), log_sum_exp(rows);
  cross_entropy_forward<T>(loss, log_sum_exp, logits, targets, rows, vocab, smoothing, z_loss);
  CHECK(worst_error(loss, [&](std::int64_t i) { return loss_expected[i]; }) <= kTolerance<T>);
  CHECK(worst_error(log_sum_exp, [&](std::int64_t i) { return log_sum_exp_expected[i]; }) <= kTolerance<T>);

  const auto gradient = [&](std::int64_t i) -> double {
    const std::int64_t row = i / vocab, v = i % vocab;
    if (targets[row] < 0) return 0;
    const double p = std::exp(logits[i] - log_sum_exp_expected[row]);
    const double of_p = 1 + 2 * z_loss * static_cast<double>(log_sum_exp_expected[row]);
    const double of_cap = cap > 0 ? 1 - std::pow(double{logits[i]} / cap, 2) : 1;
    return dloss[row] * (p * of_p - (v == targets[row] ? 1 - smoothing : 0) - smoothing / vocab) * of_cap;
  };
  check_accumulates<T>(
      rows * vocab,
      [&](T* out, T beta) {
        cross_entropy_backward<T>(out, dloss, logits, log_sum_exp, targets, rows, vocab, smoothing, beta, z_loss, cap);
      },
      gradient);
  Array<T> in_place = logits;
  cross_entropy_backward<T>(in_place, dloss, in_place, log_sum_exp, targets, rows, vocab, smoothing, 0, z_loss, cap);
  CHECK(worst_error(in_place, gradient) <= kTolerance<T>);

  // Forward and backward together give the same bits.
  Array<T> visited = logits, loss_again(rows), log_sum_exp_again(rows);
  cross_entropy_in_place<T>(loss_again, log_sum_exp_again, visited, dloss, targets, rows, vocab, smoothing, z_loss,
                            cap);
  CHECK(std::equal(visited.data(), visited.data() + rows * vocab, in_place.data()));
  CHECK(std::equal(loss_again.data(), loss_again.data() + rows, loss.data()));
  CHECK(std::equal(log_sum_exp_again.data(), log_sum_exp_again.data() + rows, log_sum_exp.data()));
}

}  // namespace

TEST_CASE_TEMPLATE("cross_entropy: losses and gradients against plain loops in double", T, float, double) {
  for_each_simd_target([] {
    for (double smoothing : {0.0, 0.1}) {
      for (std::int64_t vocab = 1; vocab <= 70; ++vocab) check_cross_entropy<T>(1 + vocab % 6, vocab, smoothing, 0);
      check_cross_entropy<T>(5, 50257, smoothing, 0);
      check_cross_entropy<T>(600, 65, smoothing, 0);
      for (std::int64_t vocab : {1, 7, 65}) check_cross_entropy<T>(9, vocab, smoothing, 0.01);
      for (std::int64_t vocab : {1, 7, 65}) check_cross_entropy<T>(9, vocab, smoothing, 0.01, 10);
    }
  });
}

TEST_CASE_TEMPLATE("cross_entropy: large and masked logits, and what is ignored", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity();
  for_each_simd_target([&] {
    Array<T> logits(3 * 5, -infinity), loss(3), log_sum_exp(3), dlogits(3 * 5);
    const std::int32_t targets[] = {0, 4, kIgnoredTarget};
    logits[0] = logits[3] = 5000, logits[9] = -5000, logits[14] = 2;
    cross_entropy_forward<T>(loss, log_sum_exp, logits, targets, 3, 5, 0);
    CHECK(loss[0] == doctest::Approx(std::log(2.0)));
    CHECK(log_sum_exp[0] == doctest::Approx(5000 + std::log(2.0)));
    CHECK(loss[1] == 0);
    CHECK(log_sum_exp[1] == -5000);
    CHECK(loss[2] == 0);
    CHECK(log_sum_exp[2] == 2);
    const Array<T> dloss(3, 1);
    cross_entropy_backward<T>(dlogits, dloss, logits, log_sum_exp, targets, 3, 5, 0, 0);
    CHECK(dlogits[0] == doctest::Approx(-0.5).epsilon(1e-3));
    CHECK(dlogits[1] == 0);
    CHECK(dlogits[3] == doctest::Approx(0.5).epsilon(1e-3));
    for (int i = 5; i < 15; ++i) CHECK(dlogits[i] == 0);
  });
}

TEST_CASE_TEMPLATE("cross_entropy: the same bits for any number of threads", T, float, double) {
  const std::int64_t rows = 400, vocab = 301;
  const Array<T> logits = random_array<T>(rows * vocab, 1), dloss = random_array<T>(rows, 2);
  const Array<std::int32_t> targets(rows, 17);
  for_each_simd_target([&] {
    check_same_for_any_thread_count([&] {
      Array<T> loss(rows), log_sum_exp(rows), dlogits = logits;
      cross_entropy_forward<T>(loss, log_sum_exp, logits, targets, rows, vocab, 0.1);
      cross_entropy_backward<T>(dlogits, loss, dlogits, log_sum_exp, targets, rows, vocab, 0.1, 0);
      return dlogits;
    });
  });
}
