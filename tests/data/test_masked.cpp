// Masks of a masked language model's training: how many, where, and what becomes of a chosen token; and the rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/ignored_target.h"
#include "data/masked/masked_batcher.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;

namespace {

// The letters a to z have the ids 0 to 25; then come the special tokens, <x> among them.
std::unique_ptr<Tokenizer> letters(std::vector<std::string> special = {"[PAD]", "[CLS]", "<x>", "[SEP]", "[MASK]"}) {
  const std::string_view text[] = {"abcdefghijklmnopqrstuvwxyz"};
  return train_tokenizer({.kind = "char", .special_tokens = std::move(special)}, text);
}
constexpr std::int32_t kPad = 26, kCls = 27, kSpecial = 28, kSep = 29, kMask = 30;

std::vector<std::int32_t> numbers(std::int64_t count, std::int32_t below) {
  std::vector<std::int32_t> ids(count);
  for (std::int64_t i = 0; i < count; ++i) ids[i] = static_cast<std::int32_t>(i % below);
  return ids;
}

std::span<const std::int32_t> view_of(const std::vector<std::int32_t>& ids) { return ids; }

// |count − n·p| in standard deviations of the binomial distribution.
double deviations(std::int64_t count, std::int64_t n, double p) {
  const auto mean = static_cast<double>(n) * p;
  return std::abs(static_cast<double>(count) - mean) / std::sqrt(mean * (1 - p));
}

std::vector<std::int32_t> row_of(const std::vector<std::int32_t>& values, const MaskedBatch& batch, std::int64_t row) {
  return {values.begin() + row * batch.length, values.begin() + (row + 1) * batch.length};
}

// The row's ids before it was masked.
std::vector<std::int32_t> restored(const MaskedBatch& batch, std::int64_t row) {
  std::vector<std::int32_t> ids = row_of(batch.ids, batch, row);
  const std::vector<std::int32_t> targets = row_of(batch.targets, batch, row);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (targets[i] != kIgnoredTarget) ids[i] = targets[i];
  }
  return ids;
}

}  // namespace

TEST_CASE("masks: 15 % of the tokens are chosen; of these 80 % become [MASK], 10 % any token, and 10 % stay") {
  const auto tokenizer = letters();
  const TokenMasker masker(*tokenizer, {});
  constexpr std::int64_t kRows = 2000, kTokens = 104;
  std::int64_t chosen = 0, masked = 0, same = 0, changed = 0;
  std::array<std::int64_t, 26> by_letter{};       // chosen
  std::map<std::int32_t, std::int64_t> replaced;  // by the token put in place of another
  std::array<std::int64_t, kTokens> by_place{};   // chosen
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const std::vector<std::int32_t> original = numbers(kTokens, 26);
    std::vector<std::int32_t> ids = original, targets(kTokens);
    const std::int64_t count = masker.mask(ids, targets, {.seed = 1, .step = 3, .micro_step = row});
    CHECK(count == kTokens - std::ranges::count(targets, kIgnoredTarget));
    chosen += count;
    for (std::int64_t i = 0; i < kTokens; ++i) {
      if (targets[i] == kIgnoredTarget) {
        CHECK(ids[i] == original[i]);
        continue;
      }
      CHECK(targets[i] == original[i]);
      ++by_letter[original[i]], ++by_place[i];
      if (ids[i] == kMask) {
        ++masked;
      } else {
        (ids[i] == original[i] ? same : changed) += 1;
        if (ids[i] != original[i]) ++replaced[ids[i]];
      }
    }
  }
  CHECK(deviations(chosen, kRows * kTokens, 0.15) < 4);
  CHECK(deviations(masked, chosen, 0.8) < 4);
  CHECK(deviations(same, chosen, 0.1 + 0.1 / 26) < 4);  // a random token may be the same one
  CHECK(deviations(changed, chosen, 0.1 * 25 / 26) < 4);
  for (const std::int64_t count : by_letter) CHECK(deviations(count, chosen, 1.0 / 26) < 5);
  for (const std::int64_t count : by_place) CHECK(deviations(count, kRows, 0.15) < 5);
  CHECK(replaced.size() == 26);  // every letter, no special token
  for (const auto& [id, count] : replaced) {
    CHECK(id < 26);
    CHECK(deviations(count, changed, 1.0 / 26) < 5);
  }
}

TEST_CASE("masks: special tokens are never chosen, and other rates are kept") {
  const auto tokenizer = letters();
  std::vector<std::int32_t> ids{kCls, 0, kSpecial, 1, kSep, kPad, kPad}, targets(ids.size());
  const std::vector<std::int32_t> original = ids;
  CHECK(TokenMasker(*tokenizer, {1, 1, 0}).mask(ids, targets, {}) == 2);
  CHECK(ids == std::vector<std::int32_t>{kCls, kMask, kSpecial, kMask, kSep, kPad, kPad});
  CHECK(targets == std::vector<std::int32_t>{-1, 0, -1, 1, -1, -1, -1});
  ids = original;
  CHECK(TokenMasker(*tokenizer, {1, 0, 0}).mask(ids, targets, {}) == 2);
  CHECK(ids == original);  // both stay, and are to be predicted
  CHECK(TokenMasker(*tokenizer, {0, 1, 0}).mask(ids, targets, {}) == 0);
  CHECK(ids == original);
  CHECK_THROWS_WITH_AS(TokenMasker(*tokenizer, {0.15, 0.8, 0.3}),
                       "masks: expected probabilities, of which those of [MASK] and of a random token are at most 1 "
                       "together, got 0.15, 0.8 and 0.3",
                       UsageError);
  CHECK_THROWS_WITH_AS(TokenMasker(*letters({"[PAD]", "[CLS]"}), {}),
                       "tokenizer: a masked language model needs the special tokens [PAD], [CLS], [SEP] and [MASK], "
                       "got one without [SEP], [MASK]: `tokenizer train` adds those that --special names",
                       UsageError);
}

TEST_CASE("masks: what happens at a place depends on seed, step, row and place, and on no other place") {
  const auto tokenizer = letters();
  const TokenMasker masker(*tokenizer, {});
  const auto targets_of = [&](std::vector<std::int32_t> ids, const RandomKey& key) {
    std::vector<std::int32_t> targets(ids.size());
    masker.mask(ids, targets, key);
    return targets;
  };
  const std::vector<std::int32_t> ids = numbers(200, 26);
  const RandomKey key{.seed = 1, .step = 2, .micro_step = 3};
  const std::vector<std::int32_t> targets = targets_of(ids, key);
  CHECK(targets_of(ids, key) == targets);
  std::vector<std::int32_t> cut(ids.begin(), ids.begin() + 150);
  CHECK(targets_of(cut, key) == std::vector<std::int32_t>(targets.begin(), targets.begin() + 150));
  for (const RandomKey& other :
       {RandomKey{.seed = 2, .step = 2, .micro_step = 3}, RandomKey{.seed = 1, .step = 4, .micro_step = 3},
        RandomKey{.seed = 1, .step = 2, .micro_step = 5}}) {
    CHECK(targets_of(ids, other) != targets);
  }
}

TEST_CASE("masked rows: a row is [CLS], text from one place, and [SEP]; a row has chosen tokens or scores none") {
  const auto tokenizer = letters();
  const std::vector<std::int32_t> text = numbers(500, 26);
  const MaskedBatcher rows(view_of(text), *tokenizer, {.batch = 64, .length = 8});
  CHECK(rows.block_size() == 6);
  MaskedBatch batch;
  std::int64_t without = 0;
  std::set<std::int32_t> firsts;
  for (std::uint32_t step = 1; step <= 20; ++step) {
    rows.draw(step, 0, batch);
    CHECK(batch.masked == std::ssize(batch.targets) - std::ranges::count(batch.targets, kIgnoredTarget));
    CHECK(batch.segments.empty());
    for (std::int64_t row = 0; row < batch.rows; ++row) {
      const std::vector<std::int32_t> ids = restored(batch, row), targets = row_of(batch.targets, batch, row);
      CHECK(batch.lengths[row] == 8);
      CHECK(ids.front() == kCls);
      CHECK(ids.back() == kSep);
      for (int i = 2; i < 7; ++i) CHECK(ids[i] == (ids[i - 1] + 1) % 26);
      without += std::ranges::count(targets, kIgnoredTarget) == std::ssize(targets);
      firsts.insert(ids[1]);
    }
  }
  CHECK(deviations(without, 20 * 64, std::pow(0.85, 6)) < 4);
  CHECK(firsts.size() == 26);
  CHECK_THROWS_WITH_AS(MaskedBatcher(view_of(text), *tokenizer, {.length = 2}),
                       "masked rows: expected at least 3 tokens, got 2", Error);
  const MaskedBatcher short_text(view_of(text).first(5), *tokenizer, {.length = 8});
  CHECK_THROWS_WITH_AS(short_text.draw(1, 0, batch), "text is too short: 5 tokens, but a row has 6", Error);
}

TEST_CASE("masked rows: 1×8, 2×4 and 8×1 draw the same rows with the same masks, and each step draws others") {
  const auto tokenizer = letters();
  const std::vector<std::int32_t> text = numbers(5000, 26);
  for (const bool pairs : {false, true}) {
    const auto step_of = [&](std::int64_t batch, std::uint32_t step) {
      const MaskedBatcher rows(view_of(text), *tokenizer, {.batch = batch, .length = 20, .pairs = pairs});
      std::vector<std::int32_t> all;
      MaskedBatch out;
      for (std::uint32_t micro = 0; micro < 8 / batch; ++micro) {
        rows.draw(step, micro, out);
        for (std::int64_t row = 0; row < batch; ++row) {
          for (const auto* values : {&out.ids, &out.targets}) {
            const std::vector<std::int32_t> part = row_of(*values, out, row);
            all.insert(all.end(), part.begin(), part.end());
          }
          if (pairs) all.push_back(out.sentence_labels[row]);
        }
      }
      return all;
    };
    CHECK(step_of(4, 5) == step_of(8, 5));
    CHECK(step_of(1, 5) == step_of(8, 5));
    CHECK(step_of(8, 6) != step_of(8, 5));
  }
}

TEST_CASE("masked rows: evaluation reads every token in one row, with masks that are the same for every seed") {
  const auto tokenizer = letters();
  for (const std::int64_t size : {1, 5, 17, 18, 100, 239}) {
    for (const bool pairs : {false, true}) {
      CAPTURE(size);
      const std::vector<std::int32_t> text = numbers(size, 26);
      const MaskedBatcher rows(view_of(text), *tokenizer, {.batch = 4, .length = 21, .pairs = pairs});
      const MaskedBatcher other(view_of(text), *tokenizer, {.batch = 4, .length = 21, .pairs = pairs, .seed = 7});
      std::map<std::int32_t, std::int64_t> seen, expected;
      for (const std::int32_t id : text) ++expected[id];
      std::int64_t follows = 0, swapped = 0, windows = 0;
      MaskedBatch batch, again;
      for (std::int64_t i = 0; i < rows.batches(); ++i) {
        rows.fill(i, batch), other.fill(i, again);
        CHECK(batch.ids == again.ids);
        CHECK(batch.targets == again.targets);
        for (std::int64_t row = 0; row < batch.rows; ++row, ++windows) {
          const std::vector<std::int32_t> ids = restored(batch, row);
          for (const std::int32_t id : ids) seen[id] += id < 26;
          CHECK(std::ranges::count(ids, kPad) == 21 - batch.lengths[row]);
          if (!pairs) continue;
          const std::vector<std::int32_t> segments = row_of(batch.segments, batch, row);
          const auto middle = std::ranges::find(ids, kSep) - ids.begin();
          for (std::int64_t t = 0; t < 21; ++t) {
            CHECK(segments[t] == (t > middle && t < batch.lengths[row] && batch.sentence_labels[row] >= 0 ? 1 : 0));
          }
          if (batch.sentence_labels[row] == kIgnoredTarget) continue;
          const bool goes_on = ids[middle + 1] == (ids[middle - 1] + 1) % 26;
          CHECK(goes_on == (batch.sentence_labels[row] == 0));
          (goes_on ? follows : swapped) += 1;
        }
      }
      std::erase_if(seen, [](const auto& entry) { return entry.second == 0; });
      CHECK(seen == expected);
      CHECK(windows == rows.windows());
      if (pairs && size == 239) CHECK(follows - swapped <= 2);
    }
  }
}

TEST_CASE("masked rows: the second segment follows the first in half of the rows, else it comes from elsewhere") {
  const auto tokenizer = letters();
  // A text in which a place is known by three tokens.
  std::vector<std::int32_t> text;
  for (std::int32_t i = 0; i < 26 * 26; ++i) text.insert(text.end(), {i / 26, i % 26, (i + 13) % 26});
  const MaskedBatcher rows(view_of(text), *tokenizer, {.batch = 100, .length = 20, .pairs = true});
  CHECK(rows.block_size() == 17);
  MaskedBatch batch;
  std::int64_t follow = 0, by_chance = 0, total = 0;
  for (std::uint32_t step = 1; step <= 10; ++step) {
    rows.draw(step, 0, batch);
    CHECK(batch.sentences == 100);
    for (std::int64_t row = 0; row < batch.rows; ++row, ++total) {
      std::vector<std::int32_t> ids = restored(batch, row);
      CHECK(ids[10] == kSep);
      CHECK(ids[19] == kSep);
      std::vector<std::int32_t> joined(ids.begin() + 1, ids.begin() + 10);
      joined.insert(joined.end(), ids.begin() + 11, ids.begin() + 19);
      const bool in_text = std::search(text.begin(), text.end(), joined.begin(), joined.end()) != text.end();
      follow += batch.sentence_labels[row] == 0;
      if (batch.sentence_labels[row] == 0) CHECK(in_text);
      by_chance += batch.sentence_labels[row] == 1 && in_text;
    }
  }
  CHECK(by_chance <= 3);
  CHECK(deviations(follow, total, 0.5) < 4);
}

TEST_CASE("masked rows: a second segment from elsewhere is never the one that follows, even in a text of one row") {
  const auto tokenizer = letters();
  const std::vector<std::int32_t> text = numbers(17, 26);
  const MaskedBatcher rows(view_of(text), *tokenizer, {.batch = 400, .length = 20, .pairs = true});
  MaskedBatch batch;
  rows.draw(1, 0, batch);
  std::array<std::int64_t, 10> begins{};  // how often each place is that of a second segment from elsewhere
  std::int64_t elsewhere = 0;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const std::int32_t begin = restored(batch, row)[11];
    CHECK((begin == 9) == (batch.sentence_labels[row] == 0));
    if (batch.sentence_labels[row] == 0) continue;
    ++begins.at(begin);
    ++elsewhere;
  }
  CHECK(elsewhere > 150);
  for (std::size_t begin = 0; begin < 9; ++begin) CHECK(deviations(begins[begin], elsewhere, 1.0 / 9) < 4);
}
