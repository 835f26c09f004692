// The hash tables that training and encoding use.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "core/error.h"
#include "core/parallel.h"
#include "helpers.h"
#include "tokenizer/bpe/pair_map.h"
#include "tokenizer/bpe/pretoken_counter.h"
#include "tokenizer/bpe/pretoken_key.h"
#include "tokenizer/pretokenizer.h"

using namespace tapeformer;

namespace {

using Counts = std::map<std::string, std::int64_t>;

Counts counted(const PretokenCounts& pretokens) {
  Counts counts;
  pretokens.for_each([&](std::string_view pretoken, std::int64_t count) {
    if (!counts.emplace(pretoken, count).second) FAIL("twice: ", pretoken);
  });
  return counts;
}

using Texts = std::vector<std::string_view>;

Counts counted(const Texts& texts, const CountOptions& options = {}) {
  PretokenCounter counter(options);
  counter.add(texts);
  return counted(*counter.finish());
}

}  // namespace

TEST_CASE("pretoken key: holds the bytes, and differs where they do") {
  RandomStream random(RandomKey{.seed = 51});
  for (int i = 0; i < 3000; ++i) {
    std::string pretoken =
        random_text(random, std::string_view("\0ab\xFF", 4), 1 + static_cast<std::int64_t>(random.below(15)));
    const PretokenKey key(pretoken);
    CHECK(key.view() == pretoken);
    CHECK(key == PretokenKey(pretoken));
    CHECK(key.hash() == PretokenKey(pretoken).hash());
    const std::string other =
        random_text(random, std::string_view("\0ab\xFF", 4), 1 + static_cast<std::int64_t>(random.below(15)));
    CHECK((key == PretokenKey(other)) == (pretoken == other));
  }
}

TEST_CASE("pair map: holds what a std::map holds through insertions and removals") {
  RandomStream random(RandomKey{.seed = 52});
  PairMap<int> map;
  std::map<std::uint64_t, int> expected;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t key =
        pair_key(static_cast<std::int32_t>(random.below(30)), static_cast<std::int32_t>(random.below(30)));
    if (random.below(3) == 0 && expected.contains(key)) {
      map.erase(key);
      expected.erase(key);
    } else {
      map[key] += i;
      expected[key] += i;
    }
    REQUIRE(map.size() == expected.size());
    const std::uint64_t other =
        pair_key(static_cast<std::int32_t>(random.below(30)), static_cast<std::int32_t>(random.below(30)));
    const int* found = map.find(other);
    REQUIRE((found != nullptr) == expected.contains(other));
    if (found) REQUIRE(*found == expected[other]);
  }
  std::map<std::uint64_t, int> all;
  map.for_each([&](std::uint64_t key, int value) { all.emplace(key, value); });
  CHECK(all == expected);
}

TEST_CASE("pretokens are counted over all texts, each text by itself") {
  CHECK(counted(Texts{"a b a", "", " b", "b"}) == Counts{{"a", 1}, {" b", 2}, {" a", 1}, {"b", 1}});
  CHECK(counted(Texts{}).empty());
}

TEST_CASE("pretokens are counted exactly in any memory, by any number of threads") {
  RandomStream random(RandomKey{.seed = 53});
  std::vector<std::string> texts;
  for (int i = 0; i < 3; ++i) {
    std::string& text = texts.emplace_back();
    while (text.size() < 300000) {
      // Words of all lengths, some of them far longer than a slot of the table.
      const auto length = static_cast<std::int64_t>(random.below(100) == 0 ? random.below(5000) : random.below(9));
      text += random_text(random, random.below(2) ? "ab" : "abcdefgh\xC3\xA9", length) + " ";
    }
  }
  const Texts views(texts.begin(), texts.end());
  Counts expected;
  for (const std::string_view text : views) {
    for_each_pretoken(text, SplitPattern::cl100k,
                      [&](std::string_view pretoken) { ++expected[std::string(pretoken)]; });
  }
  CHECK(expected.size() > 10000);
  const int threads_before = thread_count();
  for (const int threads : {1, 2, 7}) {
    set_thread_count(threads);
    for (const std::size_t max_memory : {0, 20000, 300000}) {
      CAPTURE(threads);
      CAPTURE(max_memory);
      PretokenCounter counter({.pattern = SplitPattern::cl100k, .max_memory = max_memory});
      for (const std::string_view text : views) counter.add(Texts{text});
      const auto pretokens = counter.finish();
      CHECK(counted(*pretokens) == expected);
      CHECK(counted(*pretokens) == expected);  // again
    }
  }
  set_thread_count(threads_before);
}

TEST_CASE("pretokens are counted exactly where each table holds next to nothing") {
  RandomStream random(RandomKey{.seed = 55});
  const std::string text = random_text(random, "abcd ", 20000);
  CHECK(counted(Texts{text}, {.max_memory = 1}) == counted(Texts{text}));
}

TEST_CASE("pretokens: no folder for temporary files is an error") {
  const char* folder = std::getenv("TMPDIR");
  const std::string before = folder ? folder : "";
  setenv("TMPDIR", "/none", 1);
  RandomStream random(RandomKey{.seed = 54});
  const std::string text = random_text(random, "abcdefgh ", 100000);
  CHECK_THROWS_WITH_AS(counted(Texts{text}, {.max_memory = 1000}),
                       doctest::Contains("tokenizer: temporary file for counts of words: no folder for it: "), Error);
  folder ? setenv("TMPDIR", before.c_str(), 1) : unsetenv("TMPDIR");
}
