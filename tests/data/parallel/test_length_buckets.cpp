#include <tuple>

#include "core/error.h"
#include "tests/data/pair_batches.h"

using namespace tapeformer;

TEST_CASE("pairs by length: a batch by hand") {
  TokenPairs pairs;
  pairs.add(Ids{5, 6, 7}, Ids{8}, 1);
  pairs.add(Ids{9}, Ids{11, 12}, 2);
  const LengthBuckets batches(pairs,
                              {.source = {.end = 2, .padding = 0}, .target = {.begin = 1, .end = 2, .padding = 0}},
                              {.tokens = 0, .sentences = 2});
  REQUIRE(batches.batches() == 1);
  PairBatch out;
  batches.fill(0, out);
  CHECK(out.rows == 2);
  CHECK(out.source_length == 4);
  CHECK(out.target_length == 3);
  CHECK(out.source == Ids{5, 6, 7, 2, 9, 2, 0, 0});
  CHECK(out.source_lengths == Ids{4, 2});
  CHECK(out.inputs == Ids{1, 8, 0, 1, 11, 12});
  CHECK(out.targets == Ids{8, 2, -1, 11, 12, 2});
  CHECK(out.scored == 5);
  CHECK(batches.scored(0) == 5);
  CHECK(batches.padding_share() == doctest::Approx(3.0 / 14));  // 2 of 8 and 1 of 6
}

TEST_CASE("pairs by length: all of them once, shortest target first, then shortest and longest source first by turns") {
  const TokenPairs pairs = random_pairs(500);
  for (const PairBatchOptions& options : {PairBatchOptions{.tokens = 40}, PairBatchOptions{.sentences = 7}}) {
    const LengthBuckets batches(pairs, kSymbols, options);
    std::vector<Ids> all;
    PairBatch out;
    for (std::int64_t i = 0; i < batches.batches(); ++i) {
      batches.fill(i, out);
      all.push_back(pairs_in(out, pairs));
      CHECK(out.scored == batches.scored(i));
    }
    const auto key = [&](std::int32_t pair) {
      const auto source = static_cast<int>(pairs.source(pair).size());
      const std::size_t target = pairs.target(pair).size();
      return std::tuple(target, target % 2 == 1 ? source : -source, pair);
    };
    CHECK(std::ranges::is_sorted(joined(all), {}, key));
    CHECK(sorted(joined(all)) == counting(500));
    CHECK_THROWS_WITH_AS(batches.fill(batches.batches(), out),
                         str_cat("batch ", all.size(), " of sentence pairs is out of range for ", all.size()).c_str(),
                         Error);
    CHECK_THROWS_AS(batches.scored(-1), Error);
  }
}

TEST_CASE("pairs by length: batches are as large as the bound of tokens allows, and no larger") {
  const TokenPairs pairs = random_pairs(500);
  for (const std::int64_t tokens : {13, 14, 40, 100, 100000}) {
    const LengthBuckets batches(pairs, kSymbols, {.tokens = tokens});
    PairBatch out, next;
    for (std::int64_t i = 0; i < batches.batches(); ++i) {
      batches.fill(i, out);
      REQUIRE(out.rows * out.source_length <= tokens);
      REQUIRE(out.rows * out.target_length <= tokens);
      if (i + 1 == batches.batches()) continue;
      // With the first pair of the next batch it would be too large.
      batches.fill(i + 1, next);
      const std::int32_t pair = pairs_in(next, pairs)[0];
      const auto longest =
          std::max({out.source_length, out.target_length, static_cast<std::int64_t>(pairs.source(pair).size()) + 1,
                    static_cast<std::int64_t>(pairs.target(pair).size()) + 1});
      REQUIRE((out.rows + 1) * longest > tokens);
    }
    if (tokens == 100000) CHECK(batches.batches() == 1);
  }
}

TEST_CASE("pairs by length: batches of so many sentences, the last one of what is left") {
  const TokenPairs pairs = random_pairs(23);
  const LengthBuckets batches(pairs, kSymbols, {.sentences = 5});
  REQUIRE(batches.batches() == 5);
  PairBatch out;
  for (std::int64_t i = 0; i < 5; ++i) {
    batches.fill(i, out);
    CHECK(out.rows == (i < 4 ? 5 : 3));
  }
}
