#include <doctest/doctest.h>

#include "core/error.h"
#include "core/parallel.h"
#include "data/parallel/token_pairs.h"
#include "data/synthetic/corpora.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;

namespace {

using Ids = std::vector<std::int32_t>;

Ids ids_of(std::span<const std::int32_t> ids) { return {ids.begin(), ids.end()}; }

std::unique_ptr<Tokenizer> chars(std::string_view text) {
  return train_tokenizer(TokenizerOptions{.kind = "char", .vocab = 0, .special_tokens = {"<s>"}}, {{text}});
}

std::unique_ptr<Tokenizer> bytes() {
  return train_tokenizer(TokenizerOptions{.kind = "bpe", .vocab = 256, .special_tokens = {}}, {{"ab"}});
}

}  // namespace

TEST_CASE("token pairs: the ids of both sides, each by its own tokenizer") {
  const auto source = chars("abc"), target = chars("xyzä");
  const std::vector<SentencePair> pairs = {{"abc", "zyx"}, {"c", "xxxxä"}, {"ab", "y"}};
  const TokenPairs tokens = encode_pairs(pairs, *source, *target, {.source = 5, .target = 5});
  REQUIRE(tokens.size() == 3);
  CHECK(ids_of(tokens.source(0)) == Ids{0, 1, 2});
  CHECK(ids_of(tokens.target(0)) == Ids{2, 1, 0});
  CHECK(ids_of(tokens.source(1)) == Ids{2});
  CHECK(ids_of(tokens.target(1)) == Ids{0, 0, 0, 0, 3});
  CHECK(ids_of(tokens.source(2)) == Ids{0, 1});
  CHECK(ids_of(tokens.target(2)) == Ids{1});
  CHECK(tokens.source_tokens() == 6);
  CHECK(tokens.target_tokens() == 9);
  CHECK(tokens.target_bytes() == 10);
  CHECK(tokens.skipped().total() == 0);
}

TEST_CASE("token pairs: one pair, and special tokens that are plain text") {
  const auto tokenizer = chars("<s>a");
  const TokenPairs tokens = encode_pairs(std::vector<SentencePair>{{"<s>", "a"}}, *tokenizer, *tokenizer, {3, 1});
  CHECK(tokens.size() == 1);
  CHECK(ids_of(tokens.source(0)) == tokenizer->encode("<s>"));
  CHECK(tokens.source_tokens() == 3);
}

TEST_CASE("token pairs: what cannot be used is left out and counted, for the first reason") {
  const auto tokenizer = bytes();
  const std::string_view invalid = "\xC3(", long_invalid = "aaaaaaaa\xFF";
  const std::vector<SentencePair> pairs = {
      {"", ""},              // empty
      {"ab", " \t"},         // empty
      {"\u00A0", "ab"},      // empty: white space, though not ASCII
      {"", invalid},         // empty before invalid
      {"keep", "me"},        //
      {invalid, "ab"},       // invalid
      {"ab", invalid},       // invalid
      {long_invalid, ""},    // empty
      {long_invalid, "ab"},  // invalid before too long
      {"abcde", "abc"},      // too long a source
      {"abcd", "abcd"},      // too long a target
      {"abcd", "abc"},       // just fits
  };
  const PairLimits limits{.source = 4, .target = 3};
  const TokenPairs tokens = encode_pairs(pairs, *tokenizer, *tokenizer, limits);
  REQUIRE(tokens.size() == 2);
  CHECK(tokenizer->decode(tokens.source(0)) == "keep");
  CHECK(tokenizer->decode(tokens.target(0)) == "me");
  CHECK(tokenizer->decode(tokens.source(1)) == "abcd");
  CHECK(tokenizer->decode(tokens.target(1)) == "abc");
  CHECK(tokens.target_bytes() == 5);
  CHECK(tokens.skipped().empty == 5);
  CHECK(tokens.skipped().invalid_utf8 == 3);
  CHECK(tokens.skipped().too_long == 2);
  CHECK(tokens.skipped().total() == 10);
  CHECK(describe(tokens.skipped(), limits) ==
        "5 have an empty side, 3 are not valid UTF-8, 2 are longer than 4 source or 3 target tokens");
}

TEST_CASE("token pairs: a sentence of which the tokenizer leaves nothing is empty") {
  const auto tokenizer = Tokenizer::from_json(R"({"added_tokens": [], "normalizer": {"type": "BertNormalizer",
      "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
      "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": {"type": "WordPiece"},
      "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "red": 1, "ball": 2}}})",
                                              "t");
  constexpr std::string_view kNothing = "\u200b";  // a zero-width space
  REQUIRE(tokenizer->encode(kNothing).empty());
  const std::vector<SentencePair> pairs = {{kNothing, "red ball"}, {"red", "ball"}, {"red", kNothing}};
  const TokenPairs tokens = encode_pairs(pairs, *tokenizer, *tokenizer, {.source = 1, .target = 1});
  CHECK(tokens.size() == 1);
  CHECK(tokens.skipped().empty == 2);
  CHECK(tokens.skipped().too_long == 0);
}

TEST_CASE("token pairs: what was left out, in words") {
  CHECK(describe({}, {64, 64}) == "");
  CHECK(describe({.empty = 1, .invalid_utf8 = 1, .too_long = 1}, {64, 64}) ==
        "1 has an empty side, 1 is not valid UTF-8, 1 is longer than 64 tokens");
  CHECK(describe({.empty = 0, .invalid_utf8 = 2, .too_long = 0}, {64, 64}) == "2 are not valid UTF-8");
}

TEST_CASE("token pairs: errors") {
  const auto tokenizer = bytes();
  std::vector<SentencePair> pairs(3, {"", "a"});
  pairs.resize(12, {"abcde", "a"});
  CHECK_THROWS_WITH_AS(encode_pairs(pairs, *tokenizer, *tokenizer, {4, 4}),
                       "none of 12 sentence pairs can be used: 3 have an empty side, 9 are longer than 4 tokens",
                       Error);
  CHECK_THROWS_WITH_AS(encode_pairs({}, *tokenizer, *tokenizer, {4, 4}), "no sentence pairs given", Error);
  const auto narrow = chars("a");
  const std::vector<SentencePair> unknown = {{"a", "a"}, {"a", "aé"}};
  CHECK_THROWS_WITH_AS(encode_pairs(unknown, *narrow, *narrow, {4, 4}),
                       "sentence pair 2: char tokenizer: character 'é' (U+00E9) at byte 1 is not in the vocabulary; "
                       "a bpe tokenizer takes any bytes",
                       Error);
}

TEST_CASE("token pairs: any number of threads gives the same") {
  std::string text = generate_corpus("numbers", 5000, 1);
  text += "\n\tx\n";
  const ParallelText corpus = ParallelText::from_lines(text);
  const auto tokenizer = train_tokenizer(TokenizerOptions{.kind = "bpe", .vocab = 300, .special_tokens = {}}, {{text}});
  const PairLimits limits{.source = 12, .target = 12};
  const int before = thread_count();
  set_thread_count(1);
  const TokenPairs one = encode_pairs(corpus.pairs(), *tokenizer, *tokenizer, limits);
  set_thread_count(4);
  const TokenPairs four = encode_pairs(corpus.pairs(), *tokenizer, *tokenizer, limits);
  set_thread_count(before);
  CHECK(one.skipped().empty == 2);
  CHECK(one.skipped().too_long > 0);
  CHECK(one.skipped().too_long == four.skipped().too_long);
  CHECK(one.target_bytes() == four.target_bytes());
  REQUIRE(one.size() == four.size());
  CHECK(one.size() + one.skipped().total() == 5002);
  std::int64_t bytes = 0, next = 0;
  for (std::int64_t i = 0; i < one.size(); ++i) {
    REQUIRE(ids_of(one.source(i)) == ids_of(four.source(i)));
    REQUIRE(ids_of(one.target(i)) == ids_of(four.target(i)));
    // In the order of the lines.
    while (tokenizer->decode(one.source(i)) != corpus.pairs()[next].source) ++next;
    REQUIRE(tokenizer->decode(one.target(i)) == corpus.pairs()[next].target);
    bytes += static_cast<std::int64_t>(corpus.pairs()[next].target.size());
  }
  CHECK(one.target_bytes() == bytes);
}

TEST_CASE("token pairs: unknown target tokens are counted") {
  const std::string_view text = "a b";
  const auto word = train_tokenizer({.kind = "word", .vocab = 3, .special_tokens = {}}, std::span(&text, 1));
  const SentencePair pairs[] = {{"a b", "a b"}, {"x", "a x"}, {"x", "x b"}};
  const TokenPairs encoded = encode_pairs(pairs, *word, *word, {9, 9});
  CHECK(encoded.unknown_share(*word) == 2.0 / static_cast<double>(encoded.target_tokens()));
  CHECK(TokenPairs().unknown_share(*word) == 0);
}
