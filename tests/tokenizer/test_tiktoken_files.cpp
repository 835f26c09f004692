// tiktoken's files, compared with a direct implementation of its algorithm.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/error.h"
#include "helpers.h"
#include "tests/long_test.h"
#include "tokenizer/formats/base64.h"
#include "tokenizer/formats/tiktoken_file.h"
#include "tokenizer/pretokenizer.h"

using namespace tapeformer;

namespace {

using Ids = std::vector<std::int32_t>;
using Ranks = std::map<std::string, std::int32_t>;

// Merges the neighbours whose bytes together have the smallest rank, the leftmost first. A pretoken that has a rank
// itself becomes that token at once.
Ids encode_by_ranks(const Ranks& ranks, std::string_view text, SplitPattern pattern) {
  Ids ids;
  for_each_pretoken(text, pattern, [&](std::string_view pretoken) {
    if (const auto whole = ranks.find(std::string(pretoken)); whole != ranks.end()) return ids.push_back(whole->second);
    std::vector<std::string> parts;
    for (const char c : pretoken) parts.emplace_back(1, c);
    while (true) {
      std::size_t best = parts.size();
      std::int32_t best_rank = std::numeric_limits<std::int32_t>::max();
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto joined = ranks.find(parts[i] + parts[i + 1]);
        if (joined != ranks.end() && joined->second < best_rank) best = i, best_rank = joined->second;
      }
      if (best == parts.size()) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    for (const std::string& part : parts) ids.push_back(ranks.at(part));
  });
  return ids;
}

std::string file_of(const Ranks& ranks) {
  std::string file;
  for (const auto& [token, rank] : ranks) file += write_base64(token) + " " + std::to_string(rank) + "\n";
  return file;
}

// The bytes and some words of few letters, in any order: most words can be split in several ways, and many are not
// reached.
Ranks random_ranks(RandomStream& random, std::size_t words, std::int64_t longest) {
  std::set<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.insert(std::string(1, static_cast<char>(byte)));
  for (std::size_t i = 0; i < words; ++i) {
    tokens.insert(random_text(random, "aab", 2 + static_cast<std::int64_t>(random.below(longest - 1))));
  }
  std::vector<std::string> order(tokens.begin(), tokens.end());
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  Ranks ranks;
  for (const std::string& token : order) ranks.emplace(token, static_cast<std::int32_t>(ranks.size()));
  return ranks;
}

Ranks ranks_of(const Tokenizer& tokenizer) {
  Ranks ranks;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id)) ranks.emplace(tokenizer.token_bytes(id), id);
  }
  return ranks;
}

const std::vector<std::string> kNone;

}  // namespace

TEST_CASE("base64: RFC 4648's examples, all bytes, and what is refused") {
  const std::pair<const char*, const char*> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"},
                                                          {"\xFB\xFF", "+/8="}};
  for (const auto& [bytes, text] : examples) {
    CHECK(write_base64(bytes) == text);
    CHECK(read_base64(text) == bytes);
  }
  RandomStream random(RandomKey{.seed = 71});
  for (int size = 0; size < 100; ++size) {
    const std::string bytes = random_bytes(random, size);
    CHECK(read_base64(write_base64(bytes)) == bytes);
  }
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9", "Z!==", "=", "==", "====", "Zm9v=", " Zg=="}) {
    CAPTURE(wrong);
    CHECK_FALSE(read_base64(wrong));
  }
}

TEST_CASE("rank files: tiktoken's ids, whatever the order of the ranks" * long_test()) {
  RandomStream random(RandomKey{.seed = 72});
  int unreachable = 0;
  for (int table = 0; table < 300; ++table) {
    const Ranks ranks = random_ranks(random, 2 + random.below(60), 2 + static_cast<std::int64_t>(random.below(6)));
    const auto tokenizer = read_tiktoken_file(file_of(ranks), "r", SplitPattern::gpt2, kNone);
    unreachable += dynamic_cast<const BpeTokenizer&>(*tokenizer).whole_pretokens();
    CHECK(ranks_of(*tokenizer) == ranks);
    for (int i = 0; i < 15; ++i) {
      const std::string text = random_text(random, "aaaaaabbb ", 1 + static_cast<std::int64_t>(random.below(100)));
      CAPTURE(text);
      REQUIRE(tokenizer->encode(text) == encode_by_ranks(ranks, text, SplitPattern::gpt2));
    }
    // The pairs that merge give the same ids, and so does the file that is written from them.
    const auto pairs = Tokenizer::from_json(tokenizer->to_json(), "t.json");
    CHECK(pairs->to_json() == tokenizer->to_json());
    CHECK(read_tiktoken_file(write_tiktoken_file(*pairs), "r", SplitPattern::gpt2, kNone)->to_json() ==
          tokenizer->to_json());
  }
  CHECK(unreachable > 100);
}

TEST_CASE("rank files: a learned tokenizer as ranks and back") {
  const TemporaryFolder folder("ranks");
  for (const SplitPattern pattern : {SplitPattern::gpt2, SplitPattern::cl100k}) {
    const auto tokenizer =
        train_tokenizer({.kind = "bpe", .vocab = 400, .special_tokens = {"<s>", "<|endoftext|>"}, .pattern = pattern},
                        std::vector{kStory});
    const auto path = folder.path / "t.tiktoken";
    tokenizer->save(path);
    const auto loaded = Tokenizer::load(path, {pattern, {"<s>", "<|endoftext|>"}});
    CHECK(loaded->to_json() == tokenizer->to_json());
    CHECK(loaded->encode(kStory) == encode_by_ranks(ranks_of(*tokenizer), kStory, pattern));
  }
}

TEST_CASE("rank files: special tokens with ids of their own, and unused ids between") {
  RandomStream random(RandomKey{.seed = 73});
  const std::string file = file_of(random_ranks(random, 4, 3));  // ranks 0 to 259
  const std::vector<std::string> specials = {"<end>", "<m=k>=263", "a=b=", "<s>=261"};
  const auto tokenizer = read_tiktoken_file(file, "r", SplitPattern::cl100k, specials);
  CHECK(tokenizer->vocab_size() == 266);
  CHECK(tokenizer->special("<s>") == 261);
  CHECK(tokenizer->special("<m=k>") == 263);
  CHECK(tokenizer->special("<end>") == 264);
  CHECK(tokenizer->special("a=b=") == 265);
  CHECK(tokenizer->special("<|unused_260|>") == 260);
  CHECK(tokenizer->special("<|unused_262|>") == 262);
  CHECK(tokenizer->encode("<s><end>", true) == Ids{261, 264});
  // Ranks need not begin with 0.
  const auto shifted = train_tokenizer({.kind = "bpe", .vocab = 300, .special_tokens = {"<s>"}}, std::vector{kStory});
  Ranks ranks = ranks_of(*shifted);
  for (auto& [token, rank] : ranks) ++rank;
  const std::vector<std::string> first = {"<s>=0"};
  const auto moved = read_tiktoken_file(file_of(ranks), "r", SplitPattern::gpt2, first);
  Ids expected = shifted->encode(kStory);
  for (std::int32_t& id : expected) ++id;
  CHECK(moved->encode(kStory) == expected);
  CHECK(write_tiktoken_file(*moved) ==
        write_tiktoken_file(*read_tiktoken_file(write_tiktoken_file(*moved), "r", SplitPattern::gpt2, first)));
}

TEST_CASE("rank files: what cannot be written") {
  CHECK_THROWS_WITH_AS(write_tiktoken_file(*train("word", 9, "to be")),
                       "a word tokenizer cannot be written as a file of ranks, only bpe", Error);
  // The merges are in another order than their results.
  const auto learned = train("bpe", 270, kStory);
  const auto& bpe = dynamic_cast<const BpeTokenizer&>(*learned);
  Vocabulary vocabulary;
  for (std::int32_t id = 0; id < bpe.vocab_size(); ++id) vocabulary.tokens.emplace_back(bpe.token_bytes(id));
  std::vector<BpeMerge> merges = bpe.merges();
  std::reverse(merges.begin(), merges.end());
  CHECK_THROWS_WITH_AS(
      write_tiktoken_file(BpeTokenizer(vocabulary, merges)),
      "a file of ranks would give other ids: the order of the merges is not that of the ids of their tokens", Error);
  // A merge without effect is allowed: "bc" never follows an "a", since that merges with "b" before.
  vocabulary = {};
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* token : {"ab", "abc", "bc"}) vocabulary.tokens.emplace_back(token);
  merges = {{'a', 'b', 256}, {256, 'c', 257}, {'b', 'c', 258}};
  const std::string file = write_tiktoken_file(BpeTokenizer(vocabulary, merges));
  merges.push_back({'a', 258, 257});
  CHECK(write_tiktoken_file(BpeTokenizer(vocabulary, merges)) == file);
  // With ranks, a whole pretoken becomes a token even if no merges lead to it.
  vocabulary.tokens.emplace_back("xyz");
  CHECK_THROWS_WITH_AS(write_tiktoken_file(BpeTokenizer(vocabulary, merges)),
                       "a file of ranks would give other ids: pretokens would become tokens to which no merges lead",
                       Error);
  CHECK(write_tiktoken_file(BpeTokenizer(vocabulary, merges, SplitPattern::gpt2, true)) == file + "eHl6 259\n");
}
