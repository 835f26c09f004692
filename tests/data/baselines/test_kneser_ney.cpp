#include "data/baselines/kneser_ney.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "core/random.h"
#include "data/synthetic/corpora.h"
#include "tests/data/token_files.h"

using namespace tapeformer;

namespace {

KneserNey learn(const Ids& ids, const KneserNeyOptions& options) {
  return KneserNey::learn(std::span<const std::int32_t>(ids), options);
}

// Tokens of which small ones are more frequent, and which often repeat what was before.
Ids random_ids(std::int64_t count, std::int32_t vocab, std::uint64_t seed) {
  RandomStream random({.seed = seed});
  Ids ids;
  while (std::ssize(ids) < count) {
    const bool repeats = std::ssize(ids) > 9 && random.below(3) > 0;
    ids.push_back(repeats ? ids[ids.size() - 9]
                          : static_cast<std::int32_t>(vocab * random.uniform() * random.uniform()));
  }
  return ids;
}

// P(token | history) of each token, in order.
std::vector<double> probabilities(const KneserNey& model, const Ids& ids) {
  KneserNey::History history;
  std::vector<double> all;
  for (const std::int32_t id : ids) all.push_back(std::exp(-model.read(history, id)));
  return all;
}

// The same model by its definition: every sum goes over all n-grams.
struct SlowModel {
  KneserNeyOptions options;
  std::vector<std::map<Ids, double>> counts;  // c, by length
  std::vector<std::array<double, 3>> discounts;

  SlowModel(const Ids& ids, const KneserNeyOptions& given) : options(given), counts(6), discounts(6) {
    const auto opens = [&](std::size_t i) { return i == 0 || ids[i] == options.document_token; };
    for (int n = 1; n <= options.order; ++n) {
      std::map<Ids, std::set<std::int32_t>> before;
      for (std::size_t i = 0; i + n <= ids.size(); ++i) {
        const Ids ngram(ids.begin() + i, ids.begin() + i + n);
        if (n > 2 && std::count(ngram.begin() + 1, ngram.end() - 1, options.document_token) > 0) continue;
        const bool begins = i == 0 || (n > 1 && opens(i));
        if (n == options.order || begins) {
          ++counts[n][ngram];
        } else if (before[ngram].insert(ids[i - 1]).second) {
          ++counts[n][ngram];
        }
      }
      std::array<double, 5> having{};
      for (const auto& [ngram, count] : counts[n]) {
        if (count <= 4) ++having[static_cast<std::size_t>(count)];
      }
      const double y = having[1] / (having[1] + 2 * having[2]);
      discounts[n] = {1 - 2 * y * having[2] / having[1], 2 - 3 * y * having[3] / having[2],
                      3 - 4 * y * having[4] / having[3]};
      const bool defined = *std::min_element(having.begin() + 1, having.end()) > 0;
      if (!defined || *std::ranges::min_element(discounts[n]) <= 0) discounts[n] = {0.5, 1, 1.5};
    }
  }
  double discount(int n, double count) const { return discounts[n][std::min<std::size_t>(count, 3) - 1]; }
  double p(const Ids& history, std::int32_t token) const {
    const int n = static_cast<int>(history.size()) + 1;
    const double shorter =
        n == 1 ? 1.0 / static_cast<double>(options.vocab) : p({history.begin() + 1, history.end()}, token);
    double total = 0, kept = 0, discounted = 0;
    for (const auto& [ngram, count] : counts[n]) {
      if (!std::equal(history.begin(), history.end(), ngram.begin())) continue;
      total += count;
      discounted += discount(n, count);
      if (ngram.back() == token) kept = count - discount(n, count);
    }
    return total == 0 ? shorter : kept / total + discounted / total * shorter;
  }
  std::vector<double> probabilities(const Ids& ids) const {
    std::vector<double> all;
    Ids history;
    for (const std::int32_t id : ids) {
      all.push_back(p(history, id));
      if (id == options.document_token) history.clear();
      history.push_back(id);
      if (std::ssize(history) >= options.order) history.erase(history.begin());
    }
    return all;
  }
};

}  // namespace

TEST_CASE("kneser-ney: a case computed by hand") {
  // c of the tokens is 3 (before a: b, c, the beginning), 1, 1; of ab 2, of ba, ac and ca 1. There are no tokens or
  // pairs of each count up to 4, so that D is 0.5, 1, 1.5.
  const KneserNey model = learn({0, 1, 0, 2, 0, 1}, {.order = 2, .vocab = 3});
  const double a = 1.5 / 5 + 2.5 / 5 / 3, b = 0.5 / 5 + 2.5 / 5 / 3;
  KneserNey::History start;
  CHECK(std::exp(-model.read(start, 0)) == doctest::Approx(a).epsilon(1e-14));
  for (const auto& [token, expected] :
       {std::pair{0, 1.5 / 3 * a}, {1, 1.0 / 3 + 1.5 / 3 * b}, {2, 0.5 / 3 + 1.5 / 3 * b}}) {
    KneserNey::History history = start;  // a was read
    CHECK(std::exp(-model.read(history, token)) == doctest::Approx(expected).epsilon(1e-14));
  }
}

TEST_CASE("kneser-ney: the discounts follow from the counts of counts") {
  // 4 tokens occur once, 3 twice, 2 three times, 1 four times.
  const KneserNey model =
      learn({0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 9}, {.order = 1, .vocab = 10});
  CHECK(model.discounts(1)[0] == doctest::Approx(1 - 2 * 0.4 * 3 / 4).epsilon(1e-14));
  CHECK(model.discounts(1)[1] == doctest::Approx(2 - 3 * 0.4 * 2 / 3).epsilon(1e-14));
  CHECK(model.discounts(1)[2] == doctest::Approx(3 - 4 * 0.4 * 1 / 2).epsilon(1e-14));
}

TEST_CASE("kneser-ney: the probabilities of all tokens are those of the definition, and sum to 1") {
  constexpr std::int32_t kVocab = 12;  // the last tokens do not occur
  const Ids ids = random_ids(1500, 10, 1), other = random_ids(120, kVocab, 2);
  for (const int order : {1, 3, 5}) {
    for (const std::int32_t document : {-1, 2}) {
      CAPTURE(order);
      CAPTURE(document);
      const KneserNeyOptions options{.order = order, .vocab = kVocab, .document_token = document};
      const KneserNey model = learn(ids, options);
      const SlowModel slow(ids, options);
      const std::vector<double> found = probabilities(model, other), expected = slow.probabilities(other);
      KneserNey::History history;
      for (std::size_t i = 0; i < other.size(); ++i) {
        REQUIRE(found[i] == doctest::Approx(expected[i]).epsilon(1e-12));
        double sum = 0;
        for (std::int32_t token = 0; token < kVocab; ++token) {
          KneserNey::History copy = history;
          sum += std::exp(-model.read(copy, token));
        }
        REQUIRE(sum == doctest::Approx(1).epsilon(1e-12));
        model.read(history, other[i]);
      }
    }
  }
}

TEST_CASE("kneser-ney: on a Markov chain it comes close to the entropy") {
  const auto ids_of_lines = [](std::int64_t lines, std::uint64_t seed) {
    Ids ids;
    for (const unsigned char c : generate_corpus("markov", lines, seed)) ids.push_back(c);
    return ids;
  };
  const Ids ids = ids_of_lines(6000, 1), other = ids_of_lines(1000, 2);
  // Longer n-grams than the chain needs cost a little.
  for (const auto& [order, most] : {std::pair{2, 1.002}, {5, 1.05}}) {
    double nats = 0;
    for (const double p : probabilities(learn(ids, {.order = order, .vocab = 256}), other)) nats -= std::log(p);
    const double ratio = nats / static_cast<double>(other.size()) / *corpus_entropy("markov");
    CAPTURE(ratio);
    CHECK(ratio > 0.998);
    CHECK(ratio < most);
  }
}

TEST_CASE("kneser-ney: a text that is too large is learned up to where the n-grams are too many") {
  Ids ids = random_ids(100'000, 1000, 3);
  const KneserNey model = learn(ids, {.vocab = 1000, .max_ngrams = 50'000});
  REQUIRE(model.tokens() > 10'000);
  REQUIRE(model.tokens() < 50'000);
  const Ids other = random_ids(1000, 1000, 4);
  CHECK(learn(ids, {.vocab = 1000, .max_tokens = 20'000}).tokens() == 20'000);
  ids.resize(model.tokens());
  CHECK(probabilities(model, other) == probabilities(learn(ids, {.vocab = 1000}), other));
}

TEST_CASE("kneser-ney: learning can be stopped, and refuses what it cannot learn from") {
  const Ids ids = random_ids(50'000, 10, 5);
  struct Stopped {};
  std::vector<double> shares;
  const auto stop = [&](double share) {
    shares.push_back(share);
    if (share > 0.5) throw Stopped();
  };
  CHECK_THROWS_AS(KneserNey::learn(std::span<const std::int32_t>(ids), {.vocab = 10}, stop), Stopped);
  CHECK(shares.size() > 1);
  CHECK_THROWS_WITH_AS(learn({}, {.vocab = 3}), "n-grams: expected at least one token to learn from", Error);
  CHECK_THROWS_WITH_AS(learn({1}, {.order = 6, .vocab = 3}), "n-grams: expected an order from 1 to 5, got 6", Error);
  CHECK_THROWS_WITH_AS(learn({1}, {}), "n-grams: expected a vocabulary of at least 1, got 0", Error);
}
