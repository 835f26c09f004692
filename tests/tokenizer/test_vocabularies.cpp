#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "helpers.h"
#include "tokenizer/sentence_symbols.h"

using namespace tapeformer;

namespace {
using Ids = std::vector<std::int32_t>;
}

TEST_CASE("char: the characters in the order of their code points, special tokens behind") {
  const auto tokenizer = train("char", 0, "ba\u00E9 \U0001F642\nab", {"<pad>", "<s>"});
  CHECK(tokenizer->kind() == "char");
  CHECK(tokenizer->vocab_size() == 8);
  const std::vector<std::string> expected = {"\n", " ", "a", "b", "\u00E9", "\U0001F642", "<pad>", "<s>"};
  for (std::int32_t id = 0; id < 8; ++id) CHECK(tokenizer->token_bytes(id) == expected[id]);
  CHECK(tokenizer->encode("\u00E9b\U0001F642") == Ids{4, 3, 5});
  CHECK(tokenizer->decode(Ids{4, 3, 5, 6}) == "\u00E9b\U0001F642<pad>");
  CHECK(tokenizer->encode("").empty());
}

TEST_CASE("char: errors name the character and its byte") {
  const auto tokenizer = train("char", 0, "abc ");
  CHECK_THROWS_WITH_AS(tokenizer->encode("ab \u00E9"),
                       "char tokenizer: character '\u00E9' (U+00E9) at byte 3 is not in the vocabulary; "
                       "a bpe tokenizer takes any bytes",
                       Error);
  CHECK_THROWS_WITH_AS(tokenizer->encode("ab\n"),
                       "char tokenizer: character U+000A at byte 2 is not in the vocabulary; "
                       "a bpe tokenizer takes any bytes",
                       Error);
  // Messages show printable characters only; these are at the bounds.
  for (const auto& [text, shown] : {std::pair{"\x1F", "U+001F at"},
                                    {" ", "' ' (U+0020) at"},
                                    {"\x7F", "U+007F at"},
                                    {"\u009F", "U+009F at"},
                                    {"\u00A0", "'\u00A0' (U+00A0) at"}}) {
    CHECK_THROWS_WITH_AS(train("char", 0, "a")->encode(text),
                         doctest::Contains(str_cat("char tokenizer: character ", shown).c_str()), Error);
  }
  CHECK_THROWS_WITH_AS(tokenizer->encode("ab\xFF"),
                       "char tokenizer: invalid UTF-8 at byte 2; a bpe tokenizer takes any bytes", Error);
  CHECK_THROWS_WITH_AS(train("char", 0, "\u00E9\xC3"),
                       "char tokenizer: invalid UTF-8 at byte 2; a bpe tokenizer takes any bytes", Error);
  CHECK_THROWS_WITH_AS(train_tokenizer({"char", 0, {}}, std::vector<std::string_view>{"ab", "c\x80"}),
                       "char tokenizer: invalid UTF-8 at byte 3; a bpe tokenizer takes any bytes", Error);
  // Offsets count from the beginning of the whole text, also after special tokens.
  const auto special = train("char", 0, "abc", {"<s>"});
  CHECK_THROWS_WITH_AS(special->encode("<s>ab!", true),
                       "char tokenizer: character '!' (U+0021) at byte 5 is not in the vocabulary; "
                       "a bpe tokenizer takes any bytes",
                       Error);
  CHECK_THROWS_WITH_AS(special->encode("<s>ab\xFF", true),
                       "char tokenizer: invalid UTF-8 at byte 5; a bpe tokenizer takes any bytes", Error);
}

TEST_CASE("char: <unk> stands for characters without a token, never for invalid UTF-8") {
  const auto tokenizer = train("char", 0, "abc", {"<unk>"});
  CHECK(tokenizer->encode("a\u00E9c") == Ids{0, 3, 2});
  CHECK(tokenizer->decode(Ids{0, 3, 2}) == "a<unk>c");
  CHECK_THROWS_AS(tokenizer->encode("a\xC3"), Error);
}

TEST_CASE("word: the most frequent pretokens, equally frequent ones by their bytes, the rest <unk>") {
  const auto tokenizer = train("word", 5, "the cat the dog the cat", {"<pad>"});
  // Pretokens: "the" 1, " cat" 2, " the" 2, " dog" 1. Two special tokens leave three places.
  CHECK(tokenizer->kind() == "word");
  CHECK(tokenizer->vocab_size() == 5);
  const std::vector<std::string> expected = {" cat", " the", " dog", "<pad>", "<unk>"};
  for (std::int32_t id = 0; id < 5; ++id) CHECK(tokenizer->token_bytes(id) == expected[id]);
  CHECK(tokenizer->encode("the cat the bird") == Ids{4, 0, 1, 4});
  CHECK(tokenizer->decode(Ids{4, 0, 1, 4}) == "<unk> cat the<unk>");
  CHECK(train("word", 100, kStory)->vocab_size() < 101);
  const auto all = train("word", 1000, kStory);
  CHECK(all->decode(all->encode(kStory)) == kStory);
  CHECK(all->encode(" th\xFFis") == Ids{*all->special("<unk>"), *all->special("<unk>"), *all->special("<unk>")});
  CHECK(train("word", 9, "a b", {"<unk>", "<s>"})->special("<unk>") == 2);
  CHECK(train("word", 9, "a b", {"pad"})->encode("pad b") == Ids{3, 0});  // plain text is never a special token
}

TEST_CASE("word: invalid UTF-8 in the training text is an error with its byte") {
  CHECK_THROWS_WITH_AS(train("word", 9, "the c\xFFt"),
                       "word tokenizer: invalid UTF-8 at byte 5; a bpe tokenizer takes any bytes", Error);
  const auto trainer = make_tokenizer_trainer({"word", 9, {}});
  trainer->add(std::vector<std::string_view>{"the ", "cat"});
  CHECK_THROWS_WITH_AS(trainer->add(std::vector<std::string_view>{"a", "\xFF"}),
                       "word tokenizer: invalid UTF-8 at byte 8; a bpe tokenizer takes any bytes", Error);
}

TEST_CASE("special tokens: the last ids, found by name, in text only when allowed") {
  for (const std::string kind : {"char", "word", "bpe"}) {
    CAPTURE(kind);
    const std::vector<std::string> names = {"<unk>", "<s>", "<s>>", "<|endoftext|>"};
    const auto tokenizer = train(kind, 1000, "to be <s> or not <|endoftext|> to be", names);
    const auto size = static_cast<std::int32_t>(tokenizer->vocab_size());
    CHECK(std::vector(tokenizer->special_ids().begin(), tokenizer->special_ids().end()) ==
          Ids{size - 4, size - 3, size - 2, size - 1});
    CHECK(tokenizer->special("<|endoftext|>") == size - 1);
    CHECK_FALSE(tokenizer->special("<pad>").has_value());
    CHECK_FALSE(tokenizer->special("be").has_value());
    CHECK(tokenizer->token_bytes(size - 1) == "<|endoftext|>");

    const std::string text = "to<|endoftext|> be<s>><s><s";
    for (const std::int32_t id : tokenizer->encode(text)) CHECK(id <= size - 4);
    // When two tokens begin at the same place, the longer one is found.
    Ids expected = tokenizer->encode("to");
    expected.push_back(size - 1);
    for (const std::int32_t id : tokenizer->encode(" be")) expected.push_back(id);
    expected.push_back(size - 2);
    expected.push_back(size - 3);
    for (const std::int32_t id : tokenizer->encode("<s")) expected.push_back(id);
    CHECK(tokenizer->encode(text, true) == expected);
  }
}

TEST_CASE("special tokens: the first, of those at one place the longest, and none within another") {
  const auto ids = [](const std::vector<std::string>& names, std::string_view text) {
    return train("char", 0, "xy", names)->encode(text, true);
  };
  for (const std::vector<std::string>& names : {std::vector<std::string>{"<s>", "<s>>"}, {"<s>>", "<s>"}}) {
    const std::int32_t longer = names[0] == "<s>>" ? 2 : 3;
    CHECK(ids(names, "<s>>x<s>y<s>>") == Ids{longer, 0, 5 - longer, 1, longer});
  }
  CHECK(ids({"<a>", ">"}, "<a>x><a>>") == Ids{2, 0, 3, 2, 3});
  CHECK(ids({"<a>", "a"}, "<a>x<a>a") == Ids{2, 0, 2, 3});
}

TEST_CASE("special tokens: those of a file in any order") {
  auto file = nlohmann::json::parse(train("char", 0, "ab", {"<s>", "<pad>"})->to_json());
  std::swap(file["added_tokens"][0], file["added_tokens"][1]);
  const auto tokenizer = Tokenizer::from_json(file.dump(), "t.json");
  CHECK(tokenizer->encode("a<s><pad>b", true) == Ids{0, 2, 3, 1});
  CHECK(tokenizer->is_special(2));
  CHECK(tokenizer->is_special(3));
  CHECK(tokenizer->to_json() == train("char", 0, "ab", {"<s>", "<pad>"})->to_json());
}

TEST_CASE("special tokens: those that frame sentences, found by their names") {
  const SentenceSymbols symbols = sentence_symbols(*train("char", 0, "ab", {"</s>", "<pad>", "<s>"}), "t.json");
  CHECK(symbols.end == 2);
  CHECK(symbols.padding == 3);
  CHECK(symbols.begin == 4);
  CHECK_THROWS_WITH_AS(sentence_symbols(*train("char", 0, "ab", {"<s>", "</s>"}), "t.json"),
                       "t.json: the vocabulary has no special token <pad>, which fills up short sentences", Error);
}

TEST_CASE("special tokens: one that is a single byte takes no ordinary token's place") {
  auto file = nlohmann::json::parse(train("bpe", 258, "a a a", {"<s>"})->to_json());
  file["model"]["vocab"].erase("<s>");
  file["model"]["vocab"][" "] = 257;
  file["added_tokens"][0]["content"] = " ";
  const auto tokenizer = Tokenizer::from_json(file.dump(), "t.json");
  CHECK(tokenizer->encode(" x") == Ids{220, 87});
  CHECK(tokenizer->encode(" x", true) == Ids{257, 87});
}

TEST_CASE("tokenizer: ids outside the vocabulary are errors") {
  const auto tokenizer = train("char", 0, "abc");
  CHECK_THROWS_WITH_AS(tokenizer->decode(Ids{0, 3}), "tokenizer: token id 3 is outside the vocabulary of 3 tokens",
                       Error);
  // The first one of many invalid ids is named.
  Ids many(1000000, 1);
  many[900000] = 9, many[300000] = -7, many[999999] = 8;
  CHECK_THROWS_WITH_AS(tokenizer->decode(many), "tokenizer: token id -7 is outside the vocabulary of 3 tokens", Error);
  CHECK_THROWS_WITH_AS(tokenizer->token_bytes(-1), "tokenizer: token id -1 is outside the vocabulary of 3 tokens",
                       Error);
}

TEST_CASE("train_tokenizer: wrong options are usage errors, an empty text is an error") {
  CHECK_THROWS_WITH_AS(train("bytes", 300, "abc"), "tokenizer: unknown kind 'bytes': expected char, word or bpe",
                       UsageError);
  CHECK_THROWS_WITH_AS(train("bpe", 100, "abc", {"<pad>"}),
                       "tokenizer: a vocabulary of 100 is too small for bpe: expected at least 257 (256 bytes and 1 "
                       "special)",
                       UsageError);
  CHECK_THROWS_WITH_AS(train("word", 1, "abc", {"<pad>"}),
                       "tokenizer: a vocabulary of 1 is too small for word: expected at least 2 (2 special)",
                       UsageError);
  CHECK_THROWS_WITH_AS(train("bpe", 1ll << 31, "abc"), "tokenizer: a vocabulary of 2147483648 is above 2147483647",
                       UsageError);
  CHECK_THROWS_WITH_AS(train("bpe", 300, "abc", {""}), "tokenizer: a special token is empty", UsageError);
  CHECK_THROWS_WITH_AS(train("bpe", 300, "abc", {"<s>", "<s>"}), "tokenizer: special token '<s>' is given twice",
                       UsageError);
  CHECK_THROWS_WITH_AS(train("bpe", 300, "abc", {"<\xFF>"}), "tokenizer: a special token has invalid UTF-8 at byte 1",
                       UsageError);
  for (const std::string kind : {"char", "word", "bpe"}) {
    CHECK_THROWS_WITH_AS(train(kind, 300, "aa aa", {kind == "char" ? "a" : "aa"}),
                         doctest::Contains("is an ordinary token of the text as well; put it in <...>"), UsageError);
    CHECK_THROWS_WITH_AS(
        train(kind, 300, ""),
        "tokenizer: expected a text to learn from, got none (it is empty, or held out for validation as a whole)",
        Error);
    CHECK_THROWS_WITH_AS(
        train_tokenizer({kind, 300, {}}, {}),
        "tokenizer: expected a text to learn from, got none (it is empty, or held out for validation as a whole)",
        Error);
  }
}

TEST_CASE("char: tinyshakespeare has 65 characters") {
  const char* folder = std::getenv("TAPEFORMER_DATA");
  const std::filesystem::path data = folder ? folder : PROJECT_ROOT "/../shared/data";
  std::ifstream file(data / "tinyshakespeare" / "input.txt", std::ios::binary);
  if (!file.is_open()) return;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto chars = train("char", 0, text);
  CHECK(chars->vocab_size() == 65);
  CHECK(chars->decode(chars->encode(text)) == text);
  const auto bpe = train("bpe", 1000, text);
  CHECK(bpe->vocab_size() == 1000);
  CHECK(bpe->decode(bpe->encode(text)) == text);
}

TEST_CASE("bpe: an added token whose letters are also signs of bytes keeps its text after writing") {
  const std::string text = "a caf\u00E9<t>";
  auto file = nlohmann::json::parse(train("bpe", 258, "a a a", {"<s>"})->to_json());
  const std::int64_t id = Tokenizer::from_json(file.dump(), "t")->vocab_size();
  file["added_tokens"].push_back({{"id", id}, {"content", "caf\u00E9"}, {"special", false}, {"normalized", false}});
  file["added_tokens"].push_back({{"id", id + 1}, {"content", "<t>"}, {"special", true}});
  const auto first = Tokenizer::from_json(file.dump(), "t"), again = Tokenizer::from_json(first->to_json(), "t");
  for (const Tokenizer* const tokenizer : {first.get(), again.get()}) {
    const Ids ids = tokenizer->encode(text, true);
    CHECK(std::ranges::count(ids, id) == 1);
    CHECK(ids.back() == id + 1);
    CHECK(tokenizer->decode(ids) == text);
  }
  // Hugging Face gives tokens that only added_tokens has the ids from the size of model.vocab on.
  const auto vocab = nlohmann::json::parse(again->to_json())["model"]["vocab"];
  CHECK(static_cast<std::int64_t>(vocab.size()) == id);
  CHECK(vocab.contains("<s>"));
}

TEST_CASE("wordpiece: the pieces of words are tokens of the model, never special or added ones") {
  const char* const file = R"({
    "added_tokens": [{"id": 0, "content": "[UNK]", "special": true}, {"id": 6, "content": "sep", "special": true},
                     {"id": 7, "content": "ab", "special": false, "normalized": false},
                     {"id": 8, "content": "##ss", "special": false, "normalized": false}],
    "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "b": 2, "s": 3, "##e": 4, "##p": 5}}})";
  const auto first = Tokenizer::from_json(file, "t"), again = Tokenizer::from_json(first->to_json(), "t");
  for (const Tokenizer* const tokenizer : {first.get(), again.get()}) {
    CHECK(tokenizer->encode("sep SEP") == Ids{3, 4, 5, 3, 4, 5});
    CHECK(tokenizer->encode("sep SEP", true) == Ids{6, 3, 4, 5});
    CHECK(tokenizer->encode("ab AB ass") == Ids{7, 0, 0});  // the ids of Hugging Face's tokenizers
  }
}
