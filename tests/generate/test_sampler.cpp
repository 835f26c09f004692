#include "generate/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "core/error.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

constexpr int kDraws = 20000;

// The softmax of SPEC.md: (0.02, 0.90, 0.05, 0.01, 0.02).
const std::vector<float> kLogits = {1.3f, 5.1f, 2.2f, 0.7f, 1.1f};

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  std::vector<double> p;
  double total = 0;
  for (float logit : logits) total += p.emplace_back(std::exp(logit / temperature));
  for (double& value : p) value /= total;
  return p;
}

std::vector<int> counts_of(const std::vector<float>& logits, const SamplingOptions& options, std::uint64_t seed = 1) {
  std::vector<int> counts(logits.size());
  for (std::uint32_t i = 0; i < kDraws; ++i) ++counts.at(sample_token(logits, options, {.seed = seed, .step = i}));
  return counts;
}

std::set<int> support_of(const std::vector<float>& logits, const SamplingOptions& options) {
  const std::vector<int> counts = counts_of(logits, options);
  std::set<int> support;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) support.insert(static_cast<int>(i));
  }
  return support;
}

// Pearson's statistic of the counts against probabilities p, whose zeros must have been drawn never. It has as many
// degrees of freedom as there are probabilities above zero, less one: its mean; its variance is twice that.
void check_frequencies(const std::vector<int>& counts, const std::vector<double>& p) {
  double statistic = 0, freedom = -1;
  for (std::size_t i = 0; i < p.size(); ++i) {
    CAPTURE(i);
    if (p[i] == 0) {
      CHECK(counts[i] == 0);
      continue;
    }
    const double expected = kDraws * p[i];
    REQUIRE(expected >= 5);
    statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++freedom;
  }
  CHECK(statistic < freedom + 4 * std::sqrt(2 * freedom) + 1);
}

// p cut to the kept ids.
std::vector<double> cut(std::vector<double> p, const std::set<int>& kept) {
  double total = 0;
  for (int id : kept) total += p[id];
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = kept.contains(static_cast<int>(i)) ? p[i] / total : 0;
  return p;
}

}  // namespace

TEST_CASE("sampler: frequencies are softmax(logits/temperature)") {
  for (double temperature : {0.7, 1.0, 2.0, 100.0}) {
    CAPTURE(temperature);
    for (std::uint64_t seed : {1, 2, 3}) {
      check_frequencies(counts_of(kLogits, {.temperature = temperature}, seed), softmax(kLogits, temperature));
    }
  }
  // Many tokens, with logits far from zero: a shift changes nothing.
  std::vector<float> many, shifted;
  for (int i = 0; i < 50; ++i) {
    many.push_back(static_cast<float>(i % 7) / 4);
    shifted.push_back(many.back() - 4096);
  }
  check_frequencies(counts_of(shifted, {}), softmax(many, 1));
  CHECK(counts_of(shifted, {}) == counts_of(many, {}));
}

TEST_CASE("sampler: temperature 0, top-k 1 and a tiny top-p all take the likeliest token; of equals the lowest id") {
  const std::vector<float> tied = {0.5f, 2.0f, -1.0f, 2.0f, 2.0f};
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = 0}, SamplingOptions{.top_k = 1}, SamplingOptions{.top_p = 1e-9},
        SamplingOptions{.temperature = 1e-300}, SamplingOptions{.temperature = 0, .top_k = 3, .top_p = 0.5}}) {
    for (std::uint32_t i = 0; i < 50; ++i) CHECK(sample_token(kLogits, options, {.step = i}) == 1);
    if (options.temperature == 1e-300) continue;  // draws among equals
    for (std::uint32_t i = 0; i < 50; ++i) CHECK(sample_token(tied, options, {.step = i}) == 1);
  }
  CHECK(sample_token(std::vector<float>{3.0f}, {}, {}) == 0);
}

TEST_CASE("sampler: top-k draws from exactly the k likeliest, by their proportions") {
  const std::vector<std::set<int>> kept = {{1}, {1, 2}, {0, 1, 2}, {0, 1, 2, 4}, {0, 1, 2, 3, 4}};
  for (std::int64_t k = 1; k <= 5; ++k) {
    CAPTURE(k);
    const SamplingOptions options{.temperature = 2, .top_k = k};
    CHECK(support_of(kLogits, options) == kept[k - 1]);
    if (k > 1) check_frequencies(counts_of(kLogits, options), cut(softmax(kLogits, 2), kept[k - 1]));
  }
  CHECK(support_of(kLogits, {.temperature = 2, .top_k = 50}) == kept[4]);
  // Among equal logits, the lower ids stay.
  CHECK(support_of({1, 2, 1, 1, 2}, {.top_k = 3}) == std::set<int>{0, 1, 4});
}

TEST_CASE("sampler: top-p draws from the fewest likeliest tokens that reach p, by their proportions") {
  // At temperature 2, in order of probability: 1 (0.551), 2 (0.129), 0 (0.082), 4 (0.075), 3 (0.061) of their sum.
  const std::vector<double> p = softmax(kLogits, 2);
  const std::vector<int> order = {1, 2, 0, 4, 3};
  double sum = 0;
  std::set<int> kept;
  for (int id : order) {
    const double before = sum;
    kept.insert(id);
    sum += p[id];
    for (double top_p : {before + 1e-6, (before + sum) / 2, sum - 1e-6}) {
      CAPTURE(top_p);
      const SamplingOptions options{.temperature = 2, .top_p = top_p};
      CHECK(support_of(kLogits, options) == kept);
      if (kept.size() > 1) check_frequencies(counts_of(kLogits, options), cut(p, kept));
    }
  }
  CHECK(support_of(kLogits, {.temperature = 2, .top_p = 1}).size() == 5);
  // Among equal logits, the lower ids stay.
  CHECK(support_of({1, 1, 1, 1}, {.top_p = 0.5}) == std::set<int>{0, 1});
}

TEST_CASE("sampler: top-p of a large vocabulary is that of the whole of it sorted" * long_test()) {
  std::vector<float> logits(6000);
  RandomStream random(RandomKey{.seed = 3});
  for (float& logit : logits) logit = static_cast<float>(6 * random.uniform());
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) { return logits[a] > logits[b]; });
  double total = 0;
  for (std::int32_t id : order) total += std::exp(static_cast<double>(logits[id]));
  for (double p : {0.01, 0.1, 0.5, 0.9, 0.999}) {
    double kept = 0;
    std::size_t count = 0;
    while (kept < p * total) kept += std::exp(static_cast<double>(logits[order[count++]]));
    std::size_t last = 0;
    for (std::uint32_t step = 0; step < 600; ++step) {
      const RandomKey key{.seed = 9, .step = step};
      double rest = RandomStream(key).uniform() * kept;
      std::size_t expected = 0;
      while (expected + 1 < count && (rest -= std::exp(static_cast<double>(logits[order[expected]]))) >= 0) ++expected;
      const std::int32_t got = sample_token(logits, {.temperature = 1, .top_p = p}, key);
      if (got != order[expected]) FAIL("p ", p, ", step ", step);
      last = std::max(last, expected);
    }
    CHECK(last > count / 2);  // the draws reach far into what is kept
  }
}

TEST_CASE("sampler: top-p counts within what top-k left") {
  // Among tokens 1 and 2, token 1 has 0.81 at temperature 2, so a top-p of 0.75 keeps it alone, although it has 0.61 of
  // all.
  CHECK(support_of(kLogits, {.temperature = 2, .top_k = 2, .top_p = 0.75}) == std::set<int>{1});
  CHECK(support_of(kLogits, {.temperature = 2, .top_p = 0.75}) == std::set<int>{1, 2});
  CHECK(support_of(kLogits, {.temperature = 2, .top_k = 2, .top_p = 0.9}) == std::set<int>{1, 2});
  CHECK(support_of(kLogits, {.temperature = 2, .top_k = 9, .top_p = 0.75}) == std::set<int>{1, 2});
}

TEST_CASE("sampler: a pure function of the key; tokens of no probability are never drawn") {
  for (std::uint32_t i = 0; i < 200; ++i) {
    const RandomKey key{.seed = 5, .step = i};
    CHECK(sample_token(kLogits, {.temperature = 5}, key) == sample_token(kLogits, {.temperature = 5}, key));
  }
  CHECK(counts_of(kLogits, {.temperature = 5}, 1) != counts_of(kLogits, {.temperature = 5}, 2));
  const float never = -std::numeric_limits<float>::infinity();
  CHECK(support_of({never, 1, never, 1, never}, {}) == std::set<int>{1, 3});
  CHECK(support_of({never, 1, never, 1, never}, {.top_k = 4}) == std::set<int>{1, 3});
}

TEST_CASE("sampler: predictions that are not finite numbers are an error, greedy or not") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const double temperature : {0.0, 1.0}) {
    for (const float bad : {NAN, infinity}) {
      for (const std::vector<float>& logits : {std::vector<float>{bad, 1}, {1, bad}, {bad, bad}}) {
        CHECK_THROWS_WITH_AS(sample_token(logits, {.temperature = temperature}, {}),
                             "generate: the model's predictions are not finite numbers", Error);
      }
    }
    CHECK_THROWS_AS(sample_token(std::vector<float>{-infinity, -infinity}, {.temperature = temperature}, {}), Error);
  }
}

TEST_CASE("sampler: errors for options out of range") {
  CHECK_THROWS_WITH_AS(check_options({.temperature = -0.5}), "--temperature: expected 0 or more, got -0.5", UsageError);
  CHECK_THROWS_WITH_AS(check_options({.temperature = NAN}), "--temperature: expected 0 or more, got nan", UsageError);
  CHECK_THROWS_WITH_AS(check_options({.top_k = -1}), "--top-k: expected 0 or more, got -1", UsageError);
  CHECK_THROWS_WITH_AS(check_options({.top_p = 0}), "--top-p: expected 0 < value <= 1, got 0", UsageError);
  CHECK_THROWS_WITH_AS(check_options({.top_p = 1.5}), "--top-p: expected 0 < value <= 1, got 1.5", UsageError);
  CHECK_THROWS_WITH_AS(check_options({.top_p = NAN}), "--top-p: expected 0 < value <= 1, got nan", UsageError);
  CHECK_NOTHROW(check_options({.temperature = 0, .top_k = 0, .top_p = 1}));
}
