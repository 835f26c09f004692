// Sentence pairs of known lengths, and the pairs that a batch is made of.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "data/parallel/pair_batcher.h"

namespace tapeformer {

using Ids = std::vector<std::int32_t>;

inline constexpr PairSymbols kSymbols{.source = {.end = -20, .padding = -30},
                                      .target = {.begin = -10, .end = -21, .padding = -31}};

// Pair i has sentences of the lengths asked for, all of whose tokens are i.
inline TokenPairs pairs_of(const std::vector<std::pair<int, int>>& lengths) {
  TokenPairs out;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    out.add(Ids(lengths[i].first, id), Ids(lengths[i].second, id), lengths[i].second);
  }
  return out;
}

// Lengths 1 to 12 with many ties.
inline TokenPairs random_pairs(int count) {
  RandomStream random(RandomKey{.seed = 5});
  std::vector<std::pair<int, int>> lengths(count);
  for (auto& [source, target] : lengths) {
    source = 1 + static_cast<int>(random.below(12));
    target = 1 + static_cast<int>(random.below(12));
  }
  return pairs_of(lengths);
}

// The pairs of a batch, by their rows; checks every position of the batch on the way.
inline Ids pairs_in(const PairBatch& batch, const TokenPairs& pairs) {
  Ids out;
  REQUIRE(batch.source.size() == static_cast<std::size_t>(batch.rows * batch.source_length));
  REQUIRE(batch.inputs.size() == static_cast<std::size_t>(batch.rows * batch.target_length));
  REQUIRE(batch.targets.size() == batch.inputs.size());
  REQUIRE(batch.source_lengths.size() == static_cast<std::size_t>(batch.rows));
  std::int64_t scored = 0, longest_source = 0, longest_target = 0;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const std::int32_t pair = batch.source[row * batch.source_length];
    const auto source = static_cast<std::int64_t>(pairs.source(pair).size());
    const auto target = static_cast<std::int64_t>(pairs.target(pair).size());
    for (std::int64_t p = 0; p < batch.source_length; ++p) {
      REQUIRE(batch.source[row * batch.source_length + p] == (p < source    ? pair
                                                              : p == source ? kSymbols.source.end
                                                                            : kSymbols.source.padding));
    }
    for (std::int64_t p = 0; p < batch.target_length; ++p) {
      const std::int64_t at = row * batch.target_length + p;
      REQUIRE(batch.inputs[at] == (p == 0 ? kSymbols.target.begin : p <= target ? pair : kSymbols.target.padding));
      REQUIRE(batch.targets[at] == (p < target ? pair : p == target ? kSymbols.target.end : kIgnoredTarget));
    }
    REQUIRE(batch.source_lengths[row] == source + 1);
    scored += target + 1;
    longest_source = std::max(longest_source, source + 1);
    longest_target = std::max(longest_target, target + 1);
    out.push_back(pair);
  }
  REQUIRE(batch.scored == scored);
  REQUIRE(batch.source_length == longest_source);
  REQUIRE(batch.target_length == longest_target);
  return out;
}

inline Ids counting(std::int64_t count) {
  Ids out;
  for (std::int32_t i = 0; i < count; ++i) out.push_back(i);
  return out;
}

inline Ids joined(const std::vector<Ids>& batches) {
  Ids out;
  for (const Ids& batch : batches) out.insert(out.end(), batch.begin(), batch.end());
  return out;
}

inline Ids sorted(Ids ids) {
  std::ranges::sort(ids);
  return ids;
}

}  // namespace tapeformer
