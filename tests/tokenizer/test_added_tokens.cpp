// Added tokens of files by Hugging Face, and their normal forms: the ids are those of its tokenizers.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tokenizer/bpe/byte_level.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode/normalization.h"

using namespace tapeformer;

namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> loaded(const json& file) { return Tokenizer::from_json(file.dump(), "t"); }

// Byte pairs over characters, with an added token of two signs of spaces.
json metaspace(const char* scheme) {
  json file = json::parse(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                     {"id": 5, "content": "\u2581\u2581", "special": false, "normalized": true}],
    "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "split": false},
    "model": {"type": "BPE", "unk_token": "<unk>", "vocab": {"<unk>": 0, "\u2581": 1, "a": 2, "b": 3, "\u2581a": 4},
              "merges": [["\u2581", "a"]]}})");
  file["pre_tokenizer"]["prepend_scheme"] = scheme;
  return file;
}

}  // namespace

TEST_CASE("added tokens: those in the white space that another takes with it are found too") {
  const auto tokenizer = loaded(json::parse(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                     {"id": 3, "content": "<t>", "special": false, "normalized": false, "rstrip": true},
                     {"id": 4, "content": "  ", "special": false, "normalized": false}],
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": false},
    "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, " ": 1, "a": 2}}})"));
  CHECK(tokenizer->encode("a<t> a") == Ids{2, 3, 2});
  CHECK(tokenizer->encode("<t>  a") == Ids{3, 4, 2});
  CHECK(tokenizer->encode("<t>   a") == Ids{3, 4, 1, 2});
  CHECK(tokenizer->encode("<t>    ") == Ids{3, 4, 4});
  CHECK(tokenizer->encode("<t>  <t> a") == Ids{3, 4, 3, 2});
  CHECK(tokenizer->encode("  <t>  ") == Ids{4, 3, 4});
  CHECK(tokenizer->encode("").empty());
}

TEST_CASE("added tokens: one that takes the white space before it is not found in what another has taken whole") {
  const auto tokenizer = loaded(json::parse(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                     {"id": 3, "content": "  ", "special": false, "normalized": false, "lstrip": true, "rstrip": true}],
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": false},
    "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, " ": 1, "a": 2}}})"));
  CHECK(tokenizer->encode("  a") == Ids{3, 2});
  CHECK(tokenizer->encode("a    ") == Ids{2, 3});
  CHECK(tokenizer->encode("a   a") == Ids{2, 3, 2});
  CHECK(tokenizer->encode("    a  ") == Ids{3, 2, 3});
}

TEST_CASE("added tokens: spaces are no signs of spaces before Metaspace replaces them") {
  const auto always = loaded(metaspace("always")), first = loaded(metaspace("first")),
             never = loaded(metaspace("never"));
  CHECK(always->encode("a  b") == Ids{4, 1, 1, 3});
  CHECK(first->encode("a  b") == Ids{4, 1, 1, 3});
  CHECK(never->encode("a  b") == Ids{2, 1, 1, 3});
  CHECK(always->encode("a\u2581\u2581b") == Ids{4, 5, 1, 3});
  CHECK(first->encode("a\u2581\u2581b") == Ids{4, 5, 3});
  CHECK(never->encode("a\u2581\u2581b") == Ids{2, 5, 3});
  for (const Tokenizer* const tokenizer : {always.get(), first.get(), never.get()}) {
    CHECK(tokenizer->encode(" \u2581\u2581\u2581a") == Ids{1, 5, 4});
    CHECK(tokenizer->encode("\u2581a") == Ids{4});
  }
}

TEST_CASE("pieces: an old file without a space before a text keeps the first space in decoding") {
  json file = metaspace("never");
  file["pre_tokenizer"].erase("prepend_scheme");
  for (const bool prefix : {true, false}) {
    file["pre_tokenizer"]["add_prefix_space"] = prefix;
    file["decoder"] = file["pre_tokenizer"];
    const auto tokenizer = loaded(file);
    CHECK(tokenizer->encode("a") == (prefix ? Ids{4} : Ids{2}));
    CHECK(tokenizer->decode(tokenizer->encode("a")) == "a");
    CHECK(tokenizer->decode(tokenizer->encode(" a")) == (prefix ? "a" : " a"));
  }
}

TEST_CASE("pieces: a Split that removes the whole text is refused") {
  json file = metaspace("never");
  file["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  file["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "Removed"}, {"invert", false}};
  CHECK(loaded(file)->encode("b a") == Ids{3, 4});
  file["pre_tokenizer"]["invert"] = true;
  CHECK_THROWS_WITH_AS(loaded(file),
                       "t: pre_tokenizer: an object of type \"Split\" is not supported here for BPE over characters, "
                       "only Metaspace without a normalizer",
                       Error);
}

TEST_CASE("normal forms: marks newer than Unicode 9 stay where they are, and nothing composes across them") {
  CHECK(nfc("a\u0EBA\u0327\u0301") == "a\u0EBA\u0327\u0301");
  CHECK(nfc("a\u0301\u0EBA\u0316") == "\u00E1\u0EBA\u0316");
  CHECK(nfc("a\u08D3\u0301") == "a\u08D3\u0301");
  CHECK(nfc("a\u08D4\u0316") == "a\u0316\u08D4");  // a mark of Unicode 9
}

TEST_CASE("added tokens: a user-defined token of a GGUF file stands for its text, not for bytes that it would write") {
  GgufVocabulary file;
  file.model = "gpt2", file.pre = "gpt-2";
  for (const std::uint8_t byte : byte_order()) {
    file.tokens.push_back(write_bytes(std::string(1, static_cast<char>(byte))));
    file.types.push_back(GgufVocabulary::normal);
  }
  for (const char* token : {"ab", "<\u00DC>"}) {
    file.tokens.emplace_back(token);
    file.types.push_back(GgufVocabulary::user_defined);
  }
  file.merges = {"a b"};
  const auto tokenizer = tokenizer_of(file, "f");
  CHECK(tokenizer->encode("ab<\u00DC>") == Ids{256, 257});
  CHECK(tokenizer->is_ordinary(256));
  CHECK(tokenizer->token_bytes(257) == "<\u00DC>");
  CHECK(Tokenizer::from_json(tokenizer->to_json(), "f")->token_bytes(257) == "<\u00DC>");
}

TEST_CASE("added tokens: a normalized one of spaces is found after GGUF too") {
  json file = metaspace("never");
  const json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  file["pre_tokenizer"] = nullptr;
  file["normalizer"] = replace;
  file["model"]["byte_fallback"] = true;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    file["model"]["vocab"][std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">"] = 6 + byte;
  }
  std::vector<std::string> warnings, others;
  const auto tokenizer = loaded(file);
  CHECK(tokenizer->encode("a  b") == Ids{2, 5, 3});
  CHECK(tokenizer_of(gguf_vocabulary(*tokenizer, warnings), "f")->encode("a  b") == Ids{2, 5, 3});
  CHECK(warnings.size() == 1);  // of the end of a text
  file["normalizer"] = {{"type", "Sequence"},
                        {"normalizers", json::array({{{"type", "Prepend"}, {"prepend", "\u2581"}}, replace})}};
  gguf_vocabulary(*loaded(file), others);
  CHECK(others.front() == "llama.cpp finds a normalized added token everywhere, the tokenizer only behind a space");
}

TEST_CASE("added tokens: those in place of spaces, and behind spaces alone, keep them in what is decoded") {
  json file = metaspace("never");
  const json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  file["pre_tokenizer"] = nullptr;
  file["normalizer"] = replace;
  const auto spaces = loaded(file);
  CHECK(spaces->encode("a  b") == Ids{2, 5, 3});
  CHECK(spaces->decode(Ids{2, 5, 3}) == "a  b");
  file["added_tokens"][1]["content"] = "<t>";
  CHECK(loaded(file)->decode(Ids{2, 5, 3}) == "a<t>b");
  file["normalizer"] = {{"type", "Sequence"},
                        {"normalizers", json::array({{{"type", "Prepend"}, {"prepend", "\u2581"}}, replace})}};
  file["decoder"] = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  const auto behind_space = loaded(file);
  for (const std::string text : {"a <t> b", "<t> a"}) CHECK(behind_space->decode(behind_space->encode(text)) == text);
  CHECK(behind_space->encode("a <t> b") == Ids{4, 5, 1, 3});
}
