// Pairs of near tokens with drawn negatives.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "data/skip_gram/cooccurrences.h"
#include "data/skip_gram/skip_gram_batcher.h"

using namespace tapeformer;

namespace {

// Token i is i mod 10, so that neighbours can be told.
std::vector<std::int32_t> ascending(std::int64_t size) {
  std::vector<std::int32_t> ids(size);
  for (std::int64_t i = 0; i < size; ++i) ids[i] = static_cast<std::int32_t>(i % 10);
  return ids;
}

TokenView tokens_of(const std::vector<std::int32_t>& ids) { return TokenView(std::span<const std::int32_t>(ids)); }

constexpr SkipGramOptions kOptions{.batch = 8, .row = 5, .window = 2, .negatives = 3, .seed = 4};

}  // namespace

TEST_CASE("skip-gram: the contexts of a centre are the tokens within the window, each with its negatives behind it") {
  const std::vector<std::int32_t> ids = ascending(1000);
  const SkipGramBatcher batcher(tokens_of(ids), 10, kOptions);
  SkipGramBatch batch;
  batcher.draw(1, 0, batch);
  REQUIRE(batch.centers == 40);
  REQUIRE(batch.inputs.size() == 40);
  REQUIRE(batch.outputs.size() == 40 * 4 * 4);
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    // The centres of a row stand next to each other.
    if (i % 5) CHECK(batch.inputs[i] == (batch.inputs[i - 1] + 1) % 10);
    const std::int32_t offsets[] = {-2, -1, 1, 2};
    for (std::size_t c = 0; c < 4; ++c) {
      CHECK(batch.outputs[(i * 4 + c) * 4] == (batch.inputs[i] + offsets[c] + 10) % 10);
    }
  }
}

TEST_CASE("cbow: the contexts of a centre predict it together, against negatives of its own") {
  const std::vector<std::int32_t> ids = ascending(1000);
  SkipGramOptions options = kOptions;
  options.cbow = true;
  const SkipGramBatcher batcher(tokens_of(ids), 10, options);
  SkipGramBatch batch, again;
  batcher.draw(1, 0, batch);
  REQUIRE(batch.centers == 40);
  REQUIRE(batch.inputs.size() == 40 * 4);
  REQUIRE(batch.outputs.size() == 40 * 4);
  for (std::size_t i = 0; i < 40; ++i) {
    const std::int32_t offsets[] = {-2, -1, 1, 2}, center = batch.outputs[i * 4];
    for (std::size_t c = 0; c < 4; ++c) CHECK(batch.inputs[i * 4 + c] == (center + offsets[c] + 10) % 10);
  }
  batcher.fill(0, again);
  batcher.draw(1, 0, again);
  CHECK(again.inputs == batch.inputs);
  CHECK(again.outputs == batch.outputs);
}

TEST_CASE("co-occurrences: a pair counts 1/distance in both directions, within the window, in a text of any length") {
  const std::vector<std::int32_t> few{0, 1, 2, 0, 0};
  const std::vector<Cooccurrence> pairs = count_cooccurrences(tokens_of(few), 3, 2);
  std::map<std::pair<std::int32_t, std::int32_t>, double> counts;
  for (const Cooccurrence& pair : pairs) counts[{pair.i, pair.j}] = pair.count;
  // 0 1: 1 and 1/2 (the second 0); 0 2: 1/2, 1 and 1/2; 1 2: 1; 0 0: 1, for each of the two places.
  CHECK(counts.size() == 7);
  CHECK(counts[{0, 1}] == 1.5);
  CHECK(counts[{1, 0}] == 1.5);
  CHECK(counts[{0, 2}] == 2);
  CHECK(counts[{2, 0}] == 2);
  CHECK(counts[{1, 2}] == 1);
  CHECK(counts[{0, 0}] == 2);
  CHECK(std::ranges::is_sorted(pairs, {}, [](const Cooccurrence& pair) { return std::pair(pair.i, pair.j); }));

  // The text is read in pieces, which are no borders.
  double sum = 0;
  const std::vector<std::int32_t> many = ascending(200'000);
  for (const Cooccurrence& pair : count_cooccurrences(tokens_of(many), 10, 3)) sum += pair.count;
  CHECK(sum == doctest::Approx(2 * (199'999 + 199'998 / 2.0 + 199'997 / 3.0)).epsilon(1e-12));
  CHECK_THROWS_WITH_AS(count_cooccurrences(tokens_of(few), 2, 2),
                       "co-occurrences: id 2 is outside of the vocabulary of 2", Error);
}

TEST_CASE("skip-gram: 1×8, 2×4 and 8×1 draw the same rows and negatives, other steps and seeds others") {
  const std::vector<std::int32_t> ids = ascending(1000);
  const auto drawn = [&](std::int64_t micro_steps, std::uint32_t step, std::uint64_t seed) {
    SkipGramOptions options = kOptions;
    options.batch = 8 / micro_steps, options.seed = seed;
    const SkipGramBatcher batcher(tokens_of(ids), 10, options);
    SkipGramBatch all, part;
    for (std::int64_t micro = 0; micro < micro_steps; ++micro) {
      batcher.draw(step, static_cast<std::uint32_t>(micro), part);
      all.inputs.insert(all.inputs.end(), part.inputs.begin(), part.inputs.end());
      all.outputs.insert(all.outputs.end(), part.outputs.begin(), part.outputs.end());
    }
    return std::pair(all.inputs, all.outputs);
  };
  const auto whole = drawn(1, 3, 4);
  CHECK(drawn(2, 3, 4) == whole);
  CHECK(drawn(8, 3, 4) == whole);
  CHECK(drawn(1, 4, 4) != whole);
  CHECK(drawn(1, 3, 5) != whole);

  // The negatives alone: they are others in each row, step and seed.
  const auto negatives_of_row = [&](const std::vector<std::int32_t>& outputs, std::size_t row) {
    std::vector<std::int32_t> negatives;
    for (std::size_t i = row * 5 * 4 * 4; i < (row + 1) * 5 * 4 * 4; ++i) {
      if (i % 4 != 0) negatives.push_back(outputs[i]);
    }
    return negatives;
  };
  const std::vector<std::int32_t> first = negatives_of_row(whole.second, 0);
  CHECK(first != negatives_of_row(whole.second, 1));
  CHECK(first != negatives_of_row(drawn(1, 4, 4).second, 0));
  CHECK(first != negatives_of_row(drawn(1, 3, 5).second, 0));
}

TEST_CASE("skip-gram: negatives come in proportion to count^power, and never a token that the text does not have") {
  // Counts of 0 to 4: 1, 0, 16, 81, 256.
  std::vector<std::int32_t> ids{0};
  for (const auto& [id, count] : {std::pair{2, 16}, {3, 81}, {4, 256}}) ids.insert(ids.end(), count, id);
  for (const double power : {0.0, 0.75, 1.0}) {
    const NegativeSampler sampler(tokens_of(ids), 6, power);
    double total = 0;
    std::map<std::int32_t, double> expected;
    for (const auto& [id, count] : {std::pair{0, 1}, {2, 16}, {3, 81}, {4, 256}}) {
      total += expected[id] = std::pow(count, power);
    }
    constexpr int kDraws = 100'000;
    std::map<std::int32_t, int> drawn;
    RandomStream random(RandomKey{.seed = 3});
    for (int i = 0; i < kDraws; ++i) ++drawn[sampler.draw(random)];
    CHECK(drawn.size() == 4);
    for (const auto& [id, weight] : expected) {
      const double p = weight / total;
      CHECK(sampler.probability(id) == doctest::Approx(p).epsilon(1e-12));
      CHECK(std::abs(drawn[id] - kDraws * p) < 5 * std::sqrt(kDraws * p * (1 - p)));
    }
    CHECK(sampler.probability(1) == 0);
    CHECK(sampler.probability(5) == 0);
  }
}

TEST_CASE("skip-gram: evaluation has every token with a whole window as a centre once, whatever the batch") {
  const std::vector<std::int32_t> ids = ascending(113);
  std::vector<std::int32_t> outputs;
  for (const std::int64_t batch : {1, 3, 100}) {
    SkipGramOptions options = kOptions;
    options.batch = batch;
    const SkipGramBatcher batcher(tokens_of(ids), 10, options);
    CHECK(batcher.centers() == 109);
    SkipGramBatch part;
    std::vector<std::int32_t> centers, all;
    for (std::int64_t i = 0; i < batcher.batches(); ++i) {
      batcher.fill(i, part);
      centers.insert(centers.end(), part.inputs.begin(), part.inputs.end());
      all.insert(all.end(), part.outputs.begin(), part.outputs.end());
    }
    CHECK(centers == std::vector<std::int32_t>(ids.begin() + 2, ids.end() - 2));
    if (outputs.empty()) outputs = all;
    CHECK(all == outputs);
    CHECK_THROWS_AS(batcher.fill(batcher.batches(), part), Error);
  }
}

TEST_CASE("skip-gram: what it refuses") {
  const std::vector<std::int32_t> four = ascending(4), eight = ascending(8);
  CHECK_THROWS_WITH_AS(SkipGramBatcher(tokens_of(four), 10, kOptions),
                       "skip-gram: the text has 4 tokens: a window of 2 takes at least 5", Error);
  SkipGramBatch batch;
  CHECK_THROWS_WITH_AS(SkipGramBatcher(tokens_of(eight), 10, kOptions).draw(1, 0, batch),
                       "skip-gram: the text has 8 tokens: a row takes 9", Error);
  CHECK_THROWS_WITH_AS(SkipGramBatcher(tokens_of(eight), 5, kOptions),
                       "skip-gram: id 5 is outside of the vocabulary of 5", Error);
  CHECK_THROWS_WITH_AS(NegativeSampler(TokenView(), 5, 1), "skip-gram: the text has no tokens", Error);
}
