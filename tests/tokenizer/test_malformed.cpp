// Damaged and wrong files: one clear line with the name of the file, for any content.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "helpers.h"
#include "tokenizer/formats/base64.h"
#include "tokenizer/formats/gpt2_files.h"
#include "tokenizer/formats/tiktoken_file.h"

using namespace tapeformer;

namespace {

struct Malformed {
  std::string text, message;
};

template <class Read>
void check_messages(const std::vector<Malformed>& files, const Read& read) {
  for (const Malformed& file : files) {
    const std::string beginning = file.text.substr(0, 200);
    CAPTURE(beginning);
    CHECK_THROWS_WITH_AS(read(file.text), file.message.c_str(), Error);
  }
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

// Every prefix of a good file, and the file with random bytes changed, is read, or refused with its name.
template <class Read>
void check_damage(const std::string& good, const std::string& name, const Read& read) {
  const auto read_or_refused = [&](const std::string& text) {
    try {
      read(text);
    } catch (const Error& error) {
      const std::string message = error.what();
      CAPTURE(message);
      CHECK(message.starts_with(name + ": "));
      CHECK(message.size() < 500);
    }
  };
  for (std::size_t size = 0; size < good.size(); size += 1 + size / 50) read_or_refused(good.substr(0, size));
  RandomStream random(RandomKey{.seed = 81});
  for (int i = 0; i < 300; ++i) {
    std::string text = good;
    for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
      text[random.below(text.size())] =
          random.below(2) ? random_bytes(random, 1)[0] : "{}[]\",:0123 "[random.below(12)];
    }
    read_or_refused(text);
  }
}

std::unique_ptr<Tokenizer> trained_bpe() { return train("bpe", 259, "abc\nabc\nabc\nab", {"<s>"}); }

}  // namespace

TEST_CASE("malformed: tokenizer.json") {
  const auto read = [](const std::string& text) { return Tokenizer::from_json(text, "t.json"); };
  const std::string json = trained_bpe()->to_json();
  // The file with one place written otherwise.
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = json;
    const std::size_t at = text.find(from);
    REQUIRE(at != text.npos);
    return text.replace(at, from.size(), to);
  };
  check_messages(
      {
          {"", "t.json: not valid JSON at byte 1"},
          {"{\n\"a\": 1,\n\"b\" 2}", "t.json: line 3: not valid JSON at byte 15"},
          {"{\"a\n\": 1}", "t.json: not valid JSON at byte 4"},
          {json + std::string("\0 ", 2), str_cat("t.json: line ", 1 + std::count(json.begin(), json.end(), '\n'),
                                                 ": not valid JSON at byte ", json.size() + 1)},
          {"{\"a\": \"\xFF\"}", "t.json: not valid JSON at byte 8"},
          {"{\"a\": 1e999}", "t.json: not valid JSON: a number is out of range"},
          {"[]", "t.json: file: expected an object, got a list"},
          {repeated("[", 100) + repeated("]", 100), "t.json: file: expected an object, got a list"},
          {repeated("[", 101) + repeated("]", 101), "t.json: lists and objects are more than 100 deep"},
          {repeated("[", 1000000), "t.json: lists and objects are more than 100 deep"},
          {"{\"model\": " + repeated("{\"a\":", 1000000), "t.json: lists and objects are more than 100 deep"},
          {with("\"ab\": 256", "\"ab\": 18446744073709551615"),
           "t.json: model.vocab: token \"ab\": the token id 18446744073709551615 is above 2147483647"},
          {with("\"ab\": 256", "\"ab\": 4294967296"),
           "t.json: model.vocab: token \"ab\": the token id 4294967296 is above 2147483647"},
          {with("\"ab\": 256", "\"ab\": 2147483647"),
           "t.json: model.vocab: no token has the id 256, but \"abc\" has 257"},
          {with("\"ab\": 256", "\"ab\": 256.0"),
           "t.json: model.vocab: token \"ab\": expected a token id (0 or more), got 256.0"},
          {with("\"ab\": 256", "\"\": 256"),
           "t.json: model.vocab: token 256 is not made of GPT-2's byte-level characters"},
          {with("\"ab\": 256", "\"abc\": 256"), "t.json: the key \"abc\" is there twice"},
          {with("\"id\": 258", "\"id\": 2147483647"),
           "t.json: added_tokens: token \"<s>\" has id 2147483647, but in model.vocab 258"},
          {with("\"a b\"", "[\"a\", 3]"),
           "t.json: model.merges: merge 1 of 2: expected \"a b\" or [\"a\", \"b\"], got a list"},
          {with("\"a b\"", "[\"a\", \"b\", \"c\"]"),
           "t.json: model.merges: merge 1 of 2: expected \"a b\" or [\"a\", \"b\"], got a list"},
          {with("\"a b\"", "\"" + repeated("x", 58) + "\""),
           "t.json: model.merges: merge 1 of 2: expected \"a b\" or [\"a\", \"b\"], got \"" + repeated("x", 58) + "\""},
          {with("\"a b\"", "\"" + repeated("x", 58) + "\u00E9\""),
           "t.json: model.merges: merge 1 of 2: expected \"a b\" or [\"a\", \"b\"], got \"" + repeated("x", 58) +
               "..."},
          {with("\"single_word\": false", "\"single_word\": true"),
           "t.json: added_tokens: token \"<s>\".single_word: true is not supported, only false"},
          {with("\"rstrip\": false", "\"rstrip\": 1"),
           "t.json: added_tokens: token \"<s>\".rstrip: expected true or false, got 1"},
          {with("\"a b\"", "\"a\\u0000 b\""),
           "t.json: model.merges: merge 1 of 2 (\"a\\u0000\" + \"b\"): \"a\\u0000\" is not an ordinary token of the "
           "vocabulary"},
          {with("\"type\": \"ByteLevel\"", "\"type\": {\"type\": [1]}"),
           "t.json: pre_tokenizer: an object is not supported for BPE, only ByteLevel, or Split and ByteLevel, or "
           "Metaspace"},
      },
      read);
  check_damage(json, "t.json", read);
  check_damage(train("word", 40, kStory)->to_json(), "t.json", read);
  check_damage(train("char", 0, kStory)->to_json(), "t.json", read);
}

TEST_CASE("malformed: settings of a tokenizer.json that would give other ids") {
  using Json = nlohmann::json;
  const auto message = [](const Json& file) -> std::string {
    try {
      Tokenizer::from_json(file.dump(), "t.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Json bpe = Json::parse(
      train_tokenizer({.kind = "bpe", .vocab = 257, .special_tokens = {"<s>"}, .pattern = SplitPattern::cl100k},
                      std::vector{kStory})
          ->to_json());
  const auto with = [&](const std::string& pointer, const Json& value) {
    Json file = bpe;
    file[Json::json_pointer(pointer)] = value;
    return message(file);
  };
  const std::string split = "/pre_tokenizer/pretokenizers/0";
  CHECK(message(bpe) == "no error");
  CHECK(with(split + "/behavior", "MergedWithNext") ==
        "t.json: pre_tokenizer: Split.behavior: \"MergedWithNext\" is not supported, only \"Isolated\"");
  CHECK(with(split + "/behavior", "Removed") ==
        "t.json: pre_tokenizer: Split.behavior: \"Removed\" is not supported, only \"Isolated\"");
  CHECK(with("/pre_tokenizer/pretokenizers/2", {{"type", "Digits"}}) ==
        "t.json: pre_tokenizer: an object of type \"Sequence\" is not supported for BPE, only ByteLevel, or Split and "
        "ByteLevel, or Metaspace");
  CHECK(with("/post_processor", Json::parse(R"({"type": "Sequence", "processors": [{"type": "BertProcessing"}]})")) ==
        "t.json: post_processor: an object of type \"BertProcessing\" is not supported, only null, ByteLevel and "
        "TemplateProcessing");
}

TEST_CASE("malformed: vocab.json and merges.txt") {
  const Gpt2Files good = write_gpt2_files(*trained_bpe());
  const auto read_both = [](const std::string& vocab, const std::string& merges) {
    return read_gpt2_files({vocab, merges}, {"v.json", "m.txt"}, SplitPattern::gpt2, {});
  };
  const auto read_vocab = [&](const std::string& vocab) { return read_both(vocab, good.merges); };
  const auto read_merges = [&](const std::string& merges) { return read_both(good.vocab, merges); };
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good.vocab;
    return text.replace(text.find(from), from.size(), to);
  };
  check_messages(
      {
          {"", "v.json: not valid JSON at byte 1"},
          {"[1]", "v.json: file: expected an object, got a list"},
          {repeated("{\"a\":", 200), "v.json: lists and objects are more than 100 deep"},
          {"{\"model\": {}}", "v.json: file: token \"model\": expected a token id (0 or more), got an object"},
          {"{}", "v.json: no ordinary tokens in it"},
          {with("\"ab\": 256", "\"ab\": -256"),
           "v.json: file: token \"ab\": expected a token id (0 or more), got -256"},
          {with("\"ab\": 256", "\"ab\": 257"), "v.json: file: the tokens \"ab\" and \"abc\" have the same id 257"},
          {with("\"ab\": 256", "\"ab\": 2000000000"), "v.json: file: no token has the id 256, but \"abc\" has 257"},
          {with("\"ab\"", "\"\""), "v.json: the token with id 256 is empty"},
          {with("\"ab\"", "\"xy\""),
           "m.txt: line 2 (\"a\" + \"b\"): \"ab\" is not an ordinary token of the vocabulary"},
      },
      read_vocab);
  check_messages(
      {
          {"a b\nabc", "m.txt: line 2: expected two tokens, \"a b\", got \"abc\""},
          {"a b\n\nab  c", "m.txt: line 3: expected two tokens, \"a b\", got \"ab  c\""},
          {"ab ", "m.txt: line 1: expected two tokens, \"a b\", got \"ab \""},
          {" c", "m.txt: line 1: expected two tokens, \"a b\", got \" c\""},
          {"a b c", "m.txt: line 1: expected two tokens, \"a b\", got \"a b c\""},
          {"a b\n#version: 0.2\n",
           "m.txt: line 2 (\"#version:\" + \"0.2\"): \"#version:\" is not an ordinary token of "
           "the vocabulary"},
          {"#version: 0.2\na b\nab c\nx y",
           "m.txt: line 4 (\"x\" + \"y\"): \"xy\" is not an ordinary token of the "
           "vocabulary"},
          {"a b\nab c\na b\n", "m.txt: line 3 (\"a\" + \"b\") is there twice"},
          {repeated("a", 100000), "m.txt: line 1: expected two tokens, \"a b\", got \"" + repeated("a", 59) + "..."},
      },
      read_merges);
  CHECK_THROWS_WITH_AS(read_merges("a b\nab c\n\xFF b"), doctest::Contains("m.txt: line 3 "), Error);
  check_damage(good.vocab, "v.json", [&](const std::string& text) {
    try {
      read_vocab(text);
    } catch (const Error& error) {  // whichever file does not go with the other
      if (!std::string_view(error.what()).starts_with("m.txt: ")) throw;
    }
  });
  check_damage(good.merges, "m.txt", read_merges);
}

TEST_CASE("malformed: tiktoken's files") {
  const std::string good = write_tiktoken_file(*trained_bpe());
  const auto read = [](const std::string& text) {
    return read_tiktoken_file(text, "r.tiktoken", SplitPattern::gpt2, {});
  };
  const auto line = [](std::string_view bytes, std::string_view rank) {
    return write_base64(bytes) + " " + std::string(rank) + "\n";
  };
  CHECK(read(good)->vocab_size() == 258);
  CHECK(read(good + line(repeated("z", 4096), "258"))->vocab_size() == 259);
  CHECK(read(good + line("abd", "1258"))->vocab_size() == 1259);
  check_messages(
      {
          {"", "r.tiktoken: no tokens in it"},
          {"\n\n", "r.tiktoken: no tokens in it"},
          {"IQ==", "r.tiktoken: line 1: expected a token in base64 and its rank, got \"IQ==\""},
          {good + "IQ==\t3", "r.tiktoken: line 259: expected a token in base64 and its rank, got \"IQ==\\t3\""},
          {good + line("abd", ""), "r.tiktoken: line 259: expected a token in base64 and its rank, got \"YWJk \""},
          {good + line("abd", "-1"), "r.tiktoken: line 259: expected a token in base64 and its rank, got \"YWJk -1\""},
          {good + line("abd", "1.5"),
           "r.tiktoken: line 259: expected a token in base64 and its rank, got \"YWJk 1.5\""},
          {good + line("abd", "258 "),
           "r.tiktoken: line 259: expected a token in base64 and its rank, got \"YWJk 258 \""},
          {good + line("abd", "99999999999"), "r.tiktoken: line 259: the rank 99999999999 is out of range"},
          {good + line("abd", "2147483647"), "r.tiktoken: line 259: the rank 2147483647 is out of range"},
          {good + line("abd", "2147483646"),
           "r.tiktoken: the greatest rank is 2147483646, but 259 tokens are all there are"},
          {good + line("abd", "1259"), "r.tiktoken: the greatest rank is 1259, but 259 tokens are all there are"},
          {good + line("abd", "257"), "r.tiktoken: line 259: the rank 257 is there twice"},
          {good + line("abc", "258"), "r.tiktoken: line 259: the token is there twice"},
          {good + "YW=J 258", "r.tiktoken: line 259: not base64: \"YW=J\""},
          {good + "\xFF\xFE 258", "r.tiktoken: line 259: not base64: \"\uFFFD\uFFFD\""},
          {good + " 258", "r.tiktoken: line 259: not base64: \"\""},
          {good.substr(good.find('\n') + 1), "r.tiktoken: byte 33 has no token"},
          {good + line(repeated("a", 5000), "258"),
           "r.tiktoken: a token of 5000 bytes is too long: expected at most 4096"},
      },
      read);
  check_damage(good, "r.tiktoken", read);
  const std::vector<std::string> ordinary = {"ab"};
  CHECK_THROWS_WITH_AS(read_tiktoken_file(good, "r", SplitPattern::gpt2, ordinary),
                       "special token 'ab' is an ordinary token as well", UsageError);
}
