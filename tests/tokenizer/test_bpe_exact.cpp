// Byte pair encoding does not depend on threads, the order of files, memory, the length of words or the order of ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "core/error.h"
#include "core/parallel.h"
#include "helpers.h"
#include "tests/long_test.h"
#include "tokenizer/bpe/bpe_tokenizer.h"
#include "tokenizer/bpe/byte_level.h"
#include "tokenizer/pretokenizer.h"

using namespace tapeformer;

namespace {

using Ids = std::vector<std::int32_t>;

struct Threads {
  int before = thread_count();
  explicit Threads(int threads) { set_thread_count(threads); }
  ~Threads() { set_thread_count(before); }
};

// Words of very different frequencies, numbers, symbols, and white space of several kinds.
std::string varied_text(RandomStream& random, std::size_t size) {
  constexpr std::string_view kGaps[] = {" ", " ", " ", ", ", ".\n", "  ", "\n\n", "();\n\t", " 2026", "'s ", "\r\n"};
  std::string text;
  while (text.size() < size) {
    // The word is a function of a number that is small most of the time.
    const std::uint64_t range = std::uint64_t{1} << random.below(16);
    RandomStream word(RandomKey{.seed = random.below(range), .stream = 7});
    text += random_text(word, random.below(9) ? "etaoinshrdlu" : "\xC3\xA9xyz\xE4\xBD\xA0",
                        1 + static_cast<std::int64_t>(word.below(9)));
    text += kGaps[random.below(std::size(kGaps))];
  }
  return text;
}

// The definition: of all pairs that can merge, merge the one with the smallest rank, the leftmost if there are several;
// repeat.
Ids encode_pretoken_slowly(const BpeTokenizer& tokenizer, std::string_view pretoken) {
  Ids ids;
  for (const char c : pretoken) {
    for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      if (tokenizer.token_bytes(id) == std::string_view(&c, 1)) ids.push_back(id);
    }
  }
  while (true) {
    std::size_t best_rank = tokenizer.merges().size(), best_place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        const BpeMerge& merge = tokenizer.merges()[rank];
        if (merge.left == ids[i] && merge.right == ids[i + 1]) best_rank = rank, best_place = i;
      }
    }
    if (best_rank == tokenizer.merges().size()) return ids;
    ids[best_place] = tokenizer.merges()[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_place) + 1);
  }
}

// The tokenizer with its merges in another order, so that a merge may make one of a smaller rank possible. With
// `all_pairs`, a token has every pair of tokens that make it, as in files that other programs make from ranks.
std::unique_ptr<BpeTokenizer> shuffled(const BpeTokenizer& tokenizer, bool all_pairs, RandomStream& random) {
  Vocabulary vocabulary;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    vocabulary.tokens.emplace_back(tokenizer.token_bytes(id));
  std::vector<BpeMerge> merges = tokenizer.merges();
  if (all_pairs) {
    std::map<std::string, std::int32_t> id_of;
    for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) id_of[vocabulary.tokens[id]] = id;
    merges.clear();
    for (const auto& [token, id] : id_of) {
      for (std::size_t cut = 1; cut < token.size(); ++cut) {
        const auto left = id_of.find(token.substr(0, cut)), right = id_of.find(token.substr(cut));
        if (left != id_of.end() && right != id_of.end()) merges.push_back({left->second, right->second, id});
      }
    }
  }
  for (std::size_t i = merges.size(); i > 1; --i) std::swap(merges[i - 1], merges[random.below(i)]);
  return std::make_unique<BpeTokenizer>(std::move(vocabulary), std::move(merges), tokenizer.pattern());
}

std::unique_ptr<Tokenizer> train_bpe(SplitPattern pattern, std::int64_t vocab, std::span<const std::string_view> texts,
                                     std::size_t max_memory = 0) {
  return train_tokenizer(
      {.kind = "bpe", .vocab = vocab, .special_tokens = {"<s>"}, .pattern = pattern, .max_memory = max_memory}, texts);
}

const BpeTokenizer& bpe_of(const Tokenizer& tokenizer) { return dynamic_cast<const BpeTokenizer&>(tokenizer); }

}  // namespace

TEST_CASE("bpe: the same tokenizer.json for any number of threads, order of files and memory" * long_test()) {
  RandomStream random(RandomKey{.seed = 61});
  std::vector<std::string> texts;
  for (const std::size_t size : {900000, 300000, 1, 0, 50000}) texts.push_back(varied_text(random, size));
  std::vector<std::string_view> files(texts.begin(), texts.end());
  for (const SplitPattern pattern : {SplitPattern::gpt2, SplitPattern::cl100k}) {
    const std::string expected = train_bpe(pattern, 3000, files)->to_json();
    CHECK(bpe_of(*Tokenizer::from_json(expected, "t.json")).merges().size() == 3000 - 256 - 1);
    for (const int threads : {1, 2, 7}) {
      const Threads setting(threads);
      std::rotate(files.begin(), files.begin() + 1, files.end());
      for (const std::size_t max_memory : {0, 40000, 300000}) {
        CAPTURE(threads);
        CAPTURE(max_memory);
        CHECK(train_bpe(pattern, 3000, files, max_memory)->to_json() == expected);
      }
    }
  }
}

TEST_CASE("word: the same tokenizer.json in any memory") {
  RandomStream random(RandomKey{.seed = 62});
  const std::string text = random_text(random, "abcdefgh \n", 300000);
  const std::vector<std::string_view> texts = {text};
  const auto json = [&](std::size_t max_memory) {
    return train_tokenizer({.kind = "word", .vocab = 500, .special_tokens = {}, .max_memory = max_memory}, texts)
        ->to_json();
  };
  CHECK(json(10000) == json(0));
}

TEST_CASE("bpe: the same ids for any number of threads, and from several threads at once") {
  RandomStream random(RandomKey{.seed = 63});
  const std::string text = varied_text(random, 1500000);
  for (const SplitPattern pattern : {SplitPattern::gpt2, SplitPattern::cl100k}) {
    const auto tokenizer = train_bpe(pattern, 1500, std::vector<std::string_view>{text});
    // Each pretoken by itself, without cuts.
    Ids expected;
    for_each_pretoken(text, pattern, [&](std::string_view pretoken) {
      for (const std::int32_t id : tokenizer->encode(pretoken)) expected.push_back(id);
    });
    for (const int threads : {1, 2, 7}) {
      const Threads setting(threads);
      CHECK(tokenizer->encode(text) == expected);
      CHECK(tokenizer->encode(text, true) == expected);
    }
    CHECK(tokenizer->decode(expected) == text);
    const Threads setting(3);
    std::vector<Ids> results(6);
    parallel_for(0, 3, 1, [&](std::int64_t i, std::int64_t) { results[i] = tokenizer->encode(text); });
    std::vector<std::thread> threads;
    for (int i = 3; i < 6; ++i) threads.emplace_back([&, i] { results[i] = tokenizer->encode(text); });
    for (std::thread& thread : threads) thread.join();
    for (const Ids& ids : results) CHECK(ids == expected);
  }
}

TEST_CASE("bpe: special tokens are found at the same places by any number of threads") {
  RandomStream random(RandomKey{.seed = 64});
  std::string text;
  const auto tokenizer = train("bpe", 500, kStory, {"<s>", "<|endoftext|>"});
  Ids expected;
  for (int i = 0; i < 400; ++i) {
    const std::string part = varied_text(random, random.below(6000));
    const std::string_view name = random.below(2) ? "<s>" : "<|endoftext|>";
    text += part;
    text += name;
    for (const std::int32_t id : tokenizer->encode(part)) expected.push_back(id);
    expected.push_back(*tokenizer->special(name));
  }
  for (const int threads : {1, 7}) {
    const Threads setting(threads);
    CHECK(tokenizer->encode(text, true) == expected);
  }
  CHECK(tokenizer->decode(expected) == text);
}

TEST_CASE("bpe: words of any length and merges in any order of rank, as the definition says") {
  RandomStream random(RandomKey{.seed = 65});
  for (const std::string_view alphabet : {"a", "ab", "abc", "a\xC3\xA9"}) {
    const auto learned = train("bpe", 256 + 50, random_text(random, alphabet, 3000));
    for (int order = 0; order < 8; ++order) {
      const auto tokenizer = shuffled(bpe_of(*learned), order % 2 == 1, random);
      for (int i = 0; i < 40; ++i) {
        const std::string word =
            random_text(random, alphabet, 1 + static_cast<std::int64_t>(random.below(i % 2 ? 150 : 20)));
        Ids expected;
        for_each_pretoken(word, SplitPattern::gpt2, [&](std::string_view pretoken) {
          for (const std::int32_t id : encode_pretoken_slowly(*tokenizer, pretoken)) expected.push_back(id);
        });
        CAPTURE(word);
        REQUIRE(tokenizer->encode(word) == expected);
      }
    }
  }
}

TEST_CASE("bpe: a word of one letter, millions of times") {
  const std::string word(4000000, 'a');
  const auto tokenizer = train("bpe", 256 + 21, word);  // the longest token has 2^21 letters
  // 4000000 in binary.
  std::vector<std::size_t> sizes;
  for (const std::int32_t id : tokenizer->encode(word)) sizes.push_back(tokenizer->token_bytes(id).size());
  CHECK(sizes == std::vector<std::size_t>{2097152, 1048576, 524288, 262144, 65536, 2048, 256});
}

TEST_CASE("bpe: decoding gives back any bytes, by either pattern") {
  RandomStream random(RandomKey{.seed = 66});
  const std::string text = varied_text(random, 20000);
  for (const SplitPattern pattern : {SplitPattern::gpt2, SplitPattern::cl100k}) {
    const auto tokenizer = train_bpe(pattern, 600, std::vector<std::string_view>{text});
    for (int i = 0; i < 500; ++i) {
      std::string bytes = i % 2 ? random_bytes(random, i) : varied_text(random, i);
      for (char& c : bytes) {
        if (random.below(50) == 0) c = static_cast<char>(random.below(256));
      }
      REQUIRE(tokenizer->decode(tokenizer->encode(bytes)) == bytes);
      REQUIRE(tokenizer->decode(tokenizer->encode(bytes, true)) == bytes);
    }
    const std::string many = random_bytes(random, 1000000);
    CHECK(tokenizer->decode(tokenizer->encode(many)) == many);
  }
}

TEST_CASE("char: of several errors in a long text the first is told") {
  const auto tokenizer = train("char", 0, "abc ");
  std::string text;
  while (text.size() < 3000000) text += "abc abc ";
  for (const std::size_t at : {2900000, 1500000, 1400001}) text[at] = 'x';
  const Threads setting(7);
  for (int i = 0; i < 5; ++i) {
    CHECK_THROWS_WITH_AS(tokenizer->encode(text), doctest::Contains("'x' (U+0078) at byte 1400001 "), Error);
  }
}

TEST_CASE("bpe: a vocabulary of some bytes alone encodes those, and names the first other one") {
  // Other tools learn such a vocabulary from a text without those bytes. No merge leads to the token "bc".
  const auto json = [](bool whole_pretokens) {
    return str_cat(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "bc": 4},)",
                   R"("merges": ["a b"], "ignore_merges": )", whole_pretokens ? "true" : "false",
                   R"(}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}})");
  };
  for (const bool whole_pretokens : {false, true}) {
    const auto tokenizer = Tokenizer::from_json(json(whole_pretokens), "t.json");
    CHECK(tokenizer->encode("abba ab") == Ids{2, 1, 0, 3, 2});
    CHECK(Tokenizer::from_json(tokenizer->to_json(), "t.json")->encode("abba ab") == Ids{2, 1, 0, 3, 2});
    CHECK_THROWS_WITH_AS(tokenizer->encode("ab ab\xFF"),
                         "bpe tokenizer: byte 5 is 255, which has no token in this vocabulary", Error);
    std::string text(1000000, 'a');
    text[900000] = 'd';
    text[700000] = 'c';
    CHECK_THROWS_WITH_AS(tokenizer->encode(text),
                         "bpe tokenizer: byte 700000 is 99, which has no token in this vocabulary", Error);
  }
  CHECK(Tokenizer::from_json(json(true), "t.json")->encode("bc") == Ids{4});
  CHECK_THROWS_AS(Tokenizer::from_json(json(false), "t.json")->encode("bc"), Error);
}

TEST_CASE("bpe: a merge must give the bytes of its sides") {
  const auto learned = train("bpe", 258, "abab cd cd cd");
  Vocabulary vocabulary;
  for (std::int32_t id = 0; id < 258; ++id) vocabulary.tokens.emplace_back(learned->token_bytes(id));
  CHECK_THROWS_WITH_AS(BpeTokenizer(vocabulary, {{0, 1, 2}}), "the merge of the tokens 0 and 1 is not token 2", Error);
}
