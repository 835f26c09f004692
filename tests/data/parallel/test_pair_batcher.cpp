#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "core/parallel.h"
#include "tests/data/pair_batches.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

bool same(const PairBatch& a, const PairBatch& b) {
  return a.rows == b.rows && a.source_length == b.source_length && a.target_length == b.target_length &&
         a.scored == b.scored && a.source == b.source && a.source_lengths == b.source_lengths && a.inputs == b.inputs &&
         a.targets == b.targets;
}

// The pairs of every batch of an epoch.
std::vector<Ids> epoch_of(PairBatcher& batcher, const TokenPairs& pairs, std::int64_t epoch) {
  std::vector<Ids> out;
  PairBatch batch;
  for (std::int64_t i = 0; i < batcher.batches_per_epoch(); ++i) {
    batcher.draw(epoch * batcher.batches_per_epoch() + i, batch);
    out.push_back(pairs_in(batch, pairs));
  }
  return out;
}

}  // namespace

TEST_CASE("pair batcher: every pair once an epoch, in batches that differ from epoch to epoch") {
  const TokenPairs pairs = random_pairs(500);
  PairBatcher batcher(pairs, kSymbols, {.tokens = 60});
  std::set<std::vector<Ids>> epochs;
  std::set<std::set<Ids>> compositions;  // which pairs are in one batch, in any order
  std::multiset<std::int64_t> shapes;
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    const std::vector<Ids> batches = epoch_of(batcher, pairs, epoch);
    CHECK(sorted(joined(batches)) == counting(500));
    epochs.insert(batches);
    std::set<Ids> composition;
    std::multiset<std::int64_t> sizes;
    for (const Ids& batch : batches) {
      composition.insert(sorted(batch));
      sizes.insert(static_cast<std::int64_t>(batch.size()));
    }
    compositions.insert(composition);
    CHECK((shapes.empty() || shapes == sizes));
    shapes = sizes;
  }
  CHECK(epochs.size() == 4);
  CHECK(compositions.size() == 4);
}

TEST_CASE("pair batcher: the seed and the number of the batch alone say which batch it is") {
  const TokenPairs pairs = random_pairs(300);
  const PairBatchOptions options{.tokens = 50, .seed = 7};
  PairBatcher batcher(pairs, kSymbols, options);
  const std::int64_t count = 3 * batcher.batches_per_epoch();
  std::vector<PairBatch> in_order(count);
  for (std::int64_t i = 0; i < count; ++i) {
    CHECK(batcher.scored(i) > 0);
    batcher.draw(i, in_order[i]);
    REQUIRE(batcher.scored(i) == in_order[i].scored);
  }
  SUBCASE("any order of the numbers, one object") {
    RandomStream random(RandomKey{.seed = 3});
    PairBatch out;
    for (int n = 0; n < 200; ++n) {
      const auto i = static_cast<std::int64_t>(random.below(count));
      if (random.below(2)) REQUIRE(batcher.scored((i * 7) % count) == in_order[(i * 7) % count].scored);
      batcher.draw(i, out);
      REQUIRE(same(out, in_order[i]));
    }
  }
  SUBCASE("a new object that begins in the middle of an epoch") {
    for (const std::int64_t begin : {1l, 5l, count / 3 - 1, count / 3, count / 2, count - 1}) {
      PairBatcher resumed(pairs, kSymbols, options);
      PairBatch out;
      for (std::int64_t i = begin; i < count; ++i) {
        resumed.draw(i, out);
        REQUIRE(same(out, in_order[i]));
      }
    }
  }
  SUBCASE("any number of threads") {
    const int before = thread_count();
    set_thread_count(before == 1 ? 3 : 1);
    PairBatcher other(pairs, kSymbols, options);
    PairBatch out;
    for (std::int64_t i = 0; i < count; ++i) {
      other.draw(i, out);
      REQUIRE(same(out, in_order[i]));
    }
    set_thread_count(before);
  }
  SUBCASE("another seed draws others") {
    PairBatcher other(pairs, kSymbols, {.tokens = 50, .seed = 8});
    CHECK(epoch_of(other, pairs, 0) != epoch_of(batcher, pairs, 0));
  }
}

// These numbers must never change, since runs that are resumed rely on them.

TEST_CASE("pair batcher: the order that seed 1 draws") {
  const TokenPairs pairs = pairs_of({{1, 2}, {1, 1}, {1, 1}, {1, 1}, {2, 1}, {1, 1}, {1, 2}, {1, 1}, {1, 2}});
  PairBatcher batcher(pairs, kSymbols, {.sentences = 2, .seed = 1});
  CHECK(epoch_of(batcher, pairs, 0) == std::vector<Ids>{{0}, {1, 2}, {3, 5}, {7, 4}, {8, 6}});
  CHECK(epoch_of(batcher, pairs, 1) == std::vector<Ids>{{0}, {2, 5}, {3, 1}, {7, 4}, {6, 8}});
}

TEST_CASE("pair batcher: each order of the batches and of equally long pairs is as likely as any other" * long_test()) {
  constexpr int kEpochs = 6000;
  const auto as_likely = [](const std::map<Ids, int>& counts, int orders) {
    CHECK(counts.size() == static_cast<std::size_t>(orders));
    const double mean = static_cast<double>(kEpochs) / orders;
    for (const auto& [order, count] : counts) CHECK(std::abs(count - mean) < 5 * std::sqrt(mean));
  };
  const TokenPairs tied = pairs_of({{2, 3}, {2, 3}, {2, 3}, {2, 3}});
  PairBatcher one_batch(tied, kSymbols, {.sentences = 4});
  const TokenPairs untied = pairs_of({{2, 1}, {2, 2}, {2, 3}, {2, 4}});
  PairBatcher four_batches(untied, kSymbols, {.sentences = 1});
  std::map<Ids, int> orders_of_ties, orders_of_batches;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    ++orders_of_ties[joined(epoch_of(one_batch, tied, epoch))];
    ++orders_of_batches[joined(epoch_of(four_batches, untied, epoch))];
  }
  as_likely(orders_of_ties, 24);
  as_likely(orders_of_batches, 24);
}

TEST_CASE("pair batcher: one pair is every batch") {
  const TokenPairs pairs = pairs_of({{3, 2}});
  PairBatcher batcher(pairs, kSymbols, {.tokens = 4});
  CHECK(batcher.batches_per_epoch() == 1);
  CHECK(batcher.padding_share() == 0);
  for (const std::int64_t index : {0, 1, 1000000}) {
    PairBatch out;
    batcher.draw(index, out);
    CHECK(pairs_in(out, pairs) == Ids{0});
    CHECK(batcher.scored(index) == 3);
  }
}

TEST_CASE("pair batcher: the share of padding is that of the batches, and far below that of pairs in no order") {
  const TokenPairs pairs = random_pairs(2000);
  PairBatcher batcher(pairs, kSymbols, {.sentences = 16});
  double padding = 0, positions = 0;
  PairBatch out;
  for (std::int64_t i = 0; i < batcher.batches_per_epoch(); ++i) {
    batcher.draw(i, out);
    padding += static_cast<double>(std::ranges::count(out.source, kSymbols.source.padding) +
                                   std::ranges::count(out.targets, kIgnoredTarget));
    positions += static_cast<double>(out.source.size() + out.targets.size());
  }
  CHECK(batcher.padding_share() == doctest::Approx(padding / positions));

  double naive_padding = 0, naive_positions = 0;
  for (std::int64_t begin = 0; begin < 2000; begin += 16) {
    std::size_t source = 0, target = 0;
    for (std::int64_t i = begin; i < begin + 16; ++i) {
      source = std::max(source, pairs.source(i).size() + 1);
      target = std::max(target, pairs.target(i).size() + 1);
    }
    for (std::int64_t i = begin; i < begin + 16; ++i) {
      naive_padding += static_cast<double>(source + target - pairs.source(i).size() - pairs.target(i).size() - 2);
      naive_positions += static_cast<double>(source + target);
    }
  }
  CHECK(batcher.padding_share() < naive_padding / naive_positions / 4);
}

TEST_CASE("pair batcher: 1x32, 2x16, 4x8 and 32x1 sentences, and as many tokens, are the same sentences") {
  const TokenPairs pairs = random_pairs(500);
  const auto steps_of = [&](const PairBatchOptions& options) {
    PairBatcher batcher(pairs, kSymbols, options);
    std::vector<Ids> steps;
    for (std::int64_t index = 0; index < 2 * batcher.batches_per_epoch(); ++index) {
      PairBatch out;
      batcher.draw(index, out);
      CHECK(out.rows * std::max(out.source_length, out.target_length) <=
            (options.tokens ? options.tokens + std::max(out.source_length, out.target_length) : 1000));
      if (options.tokens == 0) CHECK(out.rows <= options.sentences);
      CHECK(batcher.scored(index) == out.scored);
      if (index % options.pieces == 0) steps.emplace_back();
      for (const std::int32_t pair : pairs_in(out, pairs)) steps.back().push_back(pair);
    }
    return steps;
  };
  const auto whole = steps_of({.sentences = 32});
  CHECK(whole.size() == 2 * 16);
  CHECK(steps_of({.sentences = 16, .pieces = 2}) == whole);
  CHECK(steps_of({.sentences = 8, .pieces = 4}) == whole);
  CHECK(steps_of({.sentences = 1, .pieces = 32}) == whole);  // the last batch of an epoch has empty pieces
  const auto by_tokens = steps_of({.tokens = 128});
  CHECK(steps_of({.tokens = 64, .pieces = 2}) == by_tokens);
  CHECK(steps_of({.tokens = 32, .pieces = 4}) == by_tokens);
  CHECK(steps_of({.sentences = 32, .seed = 2}) != whole);
}

TEST_CASE("pair batcher: the share of padding is that of the pieces") {
  const TokenPairs pairs = pairs_of({{1, 1}, {1, 1}, {3, 3}, {3, 3}});
  CHECK(PairBatcher(pairs, kSymbols, {.sentences = 4}).padding_share() == doctest::Approx(8.0 / 32));
  CHECK(PairBatcher(pairs, kSymbols, {.sentences = 2, .pieces = 2}).padding_share() == 0);
}

TEST_CASE("pair batcher: errors") {
  const TokenPairs pairs = pairs_of({{3, 9}, {6, 2}, {2, 2}});
  const auto make = [&](const TokenPairs& from, const PairBatchOptions& options) {
    return PairBatcher(from, kSymbols, options);
  };
  CHECK_THROWS_WITH_AS(make(pairs, {.tokens = 9}),
                       "train.batch_tokens: expected at least 10, which the longest target sentence takes with its "
                       "end, got 9",
                       Error);
  CHECK_THROWS_WITH_AS(make(pairs_of({{3, 2}, {6, 2}}), {.tokens = 6}),
                       "train.batch_tokens: expected at least 7, which the longest source sentence takes with its "
                       "end, got 6",
                       Error);
  CHECK_NOTHROW(make(pairs, {.tokens = 10}));
  CHECK_THROWS_WITH_AS(make(pairs, {.tokens = -1}), "train.batch_tokens: expected at least 1, or 0 for none, got -1",
                       Error);
  CHECK_THROWS_WITH_AS(make(pairs, {.sentences = 0}), "batch: expected at least 1 sentence pair, got 0", Error);
  CHECK_THROWS_WITH_AS(make(pairs, {.tokens = 9, .pieces = 4}),
                       "train.batch_tokens: expected at least 10, which the longest target sentence takes with its "
                       "end, got 9",
                       Error);
  CHECK_THROWS_WITH_AS(make(TokenPairs(), {}), "no sentence pairs to make batches of", Error);
  PairBatch out;
  PairBatcher batcher = make(pairs, {});
  CHECK_THROWS_WITH_AS(batcher.draw(-1, out), "batch of sentence pairs: expected at least 0, got -1", Error);
}
