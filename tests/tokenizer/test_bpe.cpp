#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/error.h"
#include "helpers.h"
#include "tokenizer/bpe/bpe_tokenizer.h"
#include "tokenizer/bpe/bpe_trainer.h"
#include "tokenizer/bpe/byte_level.h"
#include "tokenizer/pretokenizer.h"

using namespace tapeformer;

namespace {

using Ids = std::vector<std::int32_t>;
using Pair = std::pair<std::int32_t, std::int32_t>;

// Every pair (left, right) of a word becomes `result`, from the left.
Ids merged(const Ids& word, Pair pair, std::int32_t result) {
  Ids out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (i + 1 < word.size() && word[i] == pair.first && word[i + 1] == pair.second) {
      out.push_back(result);
      ++i;
    } else {
      out.push_back(word[i]);
    }
  }
  return out;
}

Ids bytes_as_ids(std::string_view pretoken) {
  Ids ids;
  for (const char c : pretoken) {
    for (int id = 0; id < 256; ++id) {
      if (byte_order()[id] == static_cast<std::uint8_t>(c)) ids.push_back(id);
    }
  }
  return ids;
}

using Words = std::vector<std::pair<Ids, std::int64_t>>;  // and how often each occurs

// The definition: count all pairs, merge the best one everywhere, repeat.
std::vector<BpeMerge> reference_merges(Words words, int wanted) {
  std::vector<BpeMerge> merges;
  for (std::int32_t result = 256; result < 256 + wanted; ++result) {
    std::map<Pair, std::int64_t> counts;
    for (const auto& [word, count] : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) counts[{word[i], word[i + 1]}] += count;
    }
    if (counts.empty()) break;
    // The map is sorted by left, then right id, and the first of the largest counts is kept.
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    merges.push_back({best->first.first, best->first.second, result});
    for (auto& [word, count] : words) word = merged(word, best->first, result);
  }
  return merges;
}

std::vector<BpeMerge> reference_merges(std::string_view text, int wanted) {
  Words words;
  for_each_pretoken(text, SplitPattern::gpt2,
                    [&](std::string_view pretoken) { words.emplace_back(bytes_as_ids(pretoken), 1); });
  return reference_merges(std::move(words), wanted);
}

// Counts that do not come from a text.
struct GivenCounts : PretokenCounts {
  explicit GivenCounts(std::map<std::string, std::int64_t> given) : counts(std::move(given)) {}
  void for_each(const Visit& f) const override {
    for (const auto& [pretoken, count] : counts) f(pretoken, count);
  }
  std::map<std::string, std::int64_t> counts;
};

// Does every merge everywhere, in the order of the ranks.
Ids reference_encode(std::string_view text, const std::vector<BpeMerge>& merges) {
  Ids ids;
  for_each_pretoken(text, SplitPattern::gpt2, [&](std::string_view pretoken) {
    Ids word = bytes_as_ids(pretoken);
    for (const BpeMerge& merge : merges) word = merged(word, {merge.left, merge.right}, merge.result);
    ids.insert(ids.end(), word.begin(), word.end());
  });
  return ids;
}

const BpeTokenizer& as_bpe(const Tokenizer& tokenizer) { return dynamic_cast<const BpeTokenizer&>(tokenizer); }

}  // namespace

TEST_CASE("byte level: GPT-2's order and characters of the bytes") {
  const auto& order = byte_order();
  CHECK(std::set<int>(order.begin(), order.end()).size() == 256);
  CHECK(order[0] == '!');
  CHECK(order[93] == '~');
  CHECK(order[94] == 0xA1);
  CHECK(order[187] == 0xFF);
  CHECK(order[188] == 0);
  CHECK(order[220] == ' ');
  CHECK(order[255] == 0xAD);
  CHECK(write_bytes(" a\n\xFF") == "\u0120a\u010A\u00FF");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(read_bytes(write_bytes(all)) == all);
  CHECK_FALSE(read_bytes("a b").has_value());
  CHECK(read_bytes("\u0143") == "\xAD");  // the last of the characters
  CHECK_FALSE(read_bytes("\u0144").has_value());
  CHECK_FALSE(read_bytes("\u4F60").has_value());
}

TEST_CASE("bpe: merges equal those of a trainer written from the definition") {
  RandomStream random(RandomKey{.seed = 2});
  for (const std::string_view alphabet : {"a", "ab", "ab ", "abcd  '", "aAbB 12.\n", "a\xC3\xA9\xFF "}) {
    for (int round = 0; round < 12; ++round) {
      const std::string text = random_text(random, alphabet, 1 + static_cast<std::int64_t>(random.below(400)));
      const auto tokenizer = train("bpe", 256 + 40, text);
      CAPTURE(text);
      CHECK(as_bpe(*tokenizer).merges() == reference_merges(text, 40));
    }
  }
  CHECK(as_bpe(*train("bpe", 256 + 130, kStory)).merges() == reference_merges(kStory, 130));
}

TEST_CASE("bpe: pairs that overlap are counted, but merged from the left") {
  // a, a is six times in these words with overlap, and three times without; b, c is four times in them.
  const auto tokenizer = train("bpe", 257, "aaa aaa aaa bc bc bc bc");
  const std::int32_t a = 64;
  CHECK(tokenizer->token_bytes(a) == "a");
  CHECK(as_bpe(*tokenizer).merges() == std::vector<BpeMerge>{{a, a, 256}});
}

TEST_CASE("bpe: counts beyond 32 bits are exact") {
  RandomStream random(RandomKey{.seed = 3});
  std::map<std::string, std::int64_t> counts;
  Words words;
  for (int i = 0; i < 300; ++i) {
    // Numbers of all sizes, many of which a float could not distinguish.
    const auto count = static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(50)) + 1);
    counts.emplace(random_text(random, "abcdef", 2 + static_cast<std::int64_t>(random.below(6))), count);
  }
  for (const auto& [pretoken, count] : counts) words.emplace_back(bytes_as_ids(pretoken), count);
  CHECK(learn_merges(std::make_unique<GivenCounts>(counts), 200, {}) == reference_merges(words, 200));
}

TEST_CASE("bpe: no two tokens stand for the same bytes") {
  RandomStream random(RandomKey{.seed = 3});
  for (int round = 0; round < 30; ++round) {
    const auto tokenizer = train("bpe", 600, random_text(random, round % 2 ? "ab" : "aab b", 1500));
    std::set<std::string_view> seen;
    for (std::int32_t id = 0; id < tokenizer->vocab_size(); ++id) CHECK(seen.insert(tokenizer->token_bytes(id)).second);
  }
}

TEST_CASE("bpe: encoding equals that of an encoder written from the definition") {
  RandomStream random(RandomKey{.seed = 4});
  for (const std::string_view alphabet : {"a", "ab", "aab ", "abcd  '", "aAbB 12.\n", "a\xC3\xA9\xFF "}) {
    const auto tokenizer = train("bpe", 256 + 60, random_text(random, alphabet, 2000));
    for (int round = 0; round < 20; ++round) {
      const std::string text = random_text(random, alphabet, static_cast<std::int64_t>(random.below(300)));
      CAPTURE(text);
      CHECK(tokenizer->encode(text) == reference_encode(text, as_bpe(*tokenizer).merges()));
    }
  }
  const auto tokenizer = train("bpe", 256 + 130, kStory);
  CHECK(tokenizer->encode(kStory) == reference_encode(kStory, as_bpe(*tokenizer).merges()));
}

TEST_CASE("bpe: decoding gives back any bytes, and every token encodes to itself") {
  const auto tokenizer = train("bpe", 380, kStory, {"<|endoftext|>"});
  CHECK(tokenizer->vocab_size() == 380);
  RandomStream random(RandomKey{.seed = 5});
  for (int size = 0; size < 300; ++size) {
    const std::string text = random_bytes(random, size);
    CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
  }
  CHECK(tokenizer->decode(tokenizer->encode(kStory)) == kStory);
  CHECK(tokenizer->encode(kStory).size() * 2 < kStory.size());
  for (std::int32_t id = 0; id < 379; ++id) CHECK(tokenizer->encode(tokenizer->token_bytes(id)) == Ids{id});
}

TEST_CASE("bpe: long pretokens without a break are encoded in time that grows like their length") {
  const auto tokenizer = train("bpe", 380, kStory);
  RandomStream random(RandomKey{.seed = 6});
  // A quadratic encoder would take minutes.
  const std::string text = random_text(random, "thefoxriversaid", 1 << 20);
  CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
  const auto long_words = train("bpe", 700, text);
  CHECK(long_words->vocab_size() == 700);
}

TEST_CASE("bpe: training twice, or on the text in other parts with the same words, gives the same tokenizer") {
  const auto first = train("bpe", 370, kStory, {"<pad>"});
  CHECK(first->to_json() == train("bpe", 370, kStory, {"<pad>"})->to_json());
  CHECK(first->hash() == train("bpe", 370, kStory, {"<pad>"})->hash());
  CHECK(first->hash() != train("bpe", 371, kStory, {"<pad>"})->hash());
  const std::size_t cut = kStory.find(" The little");
  const std::vector<std::string_view> parts = {kStory.substr(cut), kStory.substr(0, cut)};
  CHECK(first->to_json() == train_tokenizer({"bpe", 370, {"<pad>"}}, parts)->to_json());
}

TEST_CASE("bpe: training stops where no pair is left") {
  const auto tokenizer = train("bpe", 1000, "aaaa", {"<|endoftext|>"});
  CHECK(tokenizer->vocab_size() == 256 + 2 + 1);
  CHECK(tokenizer->token_bytes(257) == "aaaa");
  CHECK(train("bpe", 1000, "a b c")->vocab_size() == 256 + 2);
  CHECK(train("bpe", 256, "abc")->vocab_size() == 256);
}

TEST_CASE("bpe: progress is told up to the merges learned") {
  std::vector<double> shares;
  const auto trainer = make_tokenizer_trainer({"bpe", 256 + 130, {}});
  trainer->add(std::vector<std::string_view>{kStory});
  trainer->finish([&](double share) { shares.push_back(share); });
  CHECK(shares == std::vector<double>{100.0 / 130, 1});
}

TEST_CASE("bpe: merge_steps begins with bytes, joins two tokens a step by the learned ranks, and ends as encode does") {
  const std::string_view text = "low low lower lower newest newest newest widest widest";
  const auto tokenizer = train_tokenizer({.kind = "bpe", .vocab = 266, .special_tokens = {}}, {&text, 1});
  for (const std::string word : {" lowest", "newer", "w", "\xff\xfe"}) {
    CAPTURE(word);
    const std::vector<Ids> steps = tokenizer->merge_steps(word);
    CHECK(steps.front() == bytes_as_ids(word));
    CHECK(steps.back() == tokenizer->encode(word));
    std::int32_t last = 0;
    for (std::size_t i = 1; i < steps.size(); ++i) {
      CHECK(steps[i].size() == steps[i - 1].size() - 1);
      CHECK(tokenizer->decode(steps[i]) == word);
      const std::int32_t made = *std::ranges::mismatch(steps[i], steps[i - 1]).in1;
      CHECK(made >= last);  // the result of merge r has the id 256 + r
      last = made;
    }
  }
  CHECK(tokenizer->merge_steps("two words") == tokenizer->merge_steps("two"));
  CHECK_THROWS_WITH_AS(tokenizer->merge_steps(""), "bpe tokenizer: expected a word, got none", Error);
  CHECK_THROWS_WITH_AS(tokenizer->merge_steps(std::string(65, 'a')),
                       "bpe tokenizer: the word has 65 bytes, expected at most 64", Error);
  const auto words = train_tokenizer({.kind = "word", .vocab = 20, .special_tokens = {}}, {&text, 1});
  CHECK(words->merge_steps("low").empty());
  // A word that the tokenizer takes whole has no merges.
  auto file = nlohmann::ordered_json::parse(tokenizer->to_json());
  file["model"]["merges"] = nlohmann::ordered_json::array();
  file["model"]["ignore_merges"] = true;
  const auto whole = Tokenizer::from_json(file.dump(), "whole");
  CHECK(whole->merge_steps("low is") == std::vector<Ids>{whole->encode("low")});
  CHECK(whole->merge_steps("xy").back() == bytes_as_ids("xy"));
}
