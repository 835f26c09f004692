#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "helpers.h"
#include "tokenizer/bpe/bpe_tokenizer.h"
#include "tokenizer/bpe/byte_level.h"

using namespace tapeformer;

namespace {

using nlohmann::ordered_json;
using Ids = std::vector<std::int32_t>;

std::vector<std::string> keys_of(const ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

// A bpe file with the tokens of the bytes, "ab", "abc" and <s>.
ordered_json small_bpe() { return ordered_json::parse(train("bpe", 259, "abc\nabc\nabc\nab", {"<s>"})->to_json()); }

std::unique_ptr<Tokenizer> read(const ordered_json& file) { return Tokenizer::from_json(file.dump(), "t.json"); }

}  // namespace

TEST_CASE("tokenizer.json: a saved tokenizer reads back equal") {
  const TemporaryFolder folder("tokenizer");
  for (const std::string kind : {"char", "word", "bpe"}) {
    CAPTURE(kind);
    const std::string text = std::string(kStory) + "\u00E9\U0001F642\"\\\t";
    const auto tokenizer = train(kind, 350, text, {"<unk>", "<|endoftext|>"});
    const auto path = folder.path / (kind + ".json");
    tokenizer->save(path);
    const auto loaded = Tokenizer::load(path);
    CHECK(loaded->kind() == kind);
    CHECK(loaded->to_json() == tokenizer->to_json());
    CHECK(loaded->hash() == tokenizer->hash());
    CHECK(loaded->encode(text) == tokenizer->encode(text));
    CHECK(loaded->encode("a<|endoftext|>", true) == tokenizer->encode("a<|endoftext|>", true));
    CHECK(loaded->special("<|endoftext|>") == tokenizer->vocab_size() - 1);
    for (std::int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
      CHECK(loaded->token_bytes(id) == tokenizer->token_bytes(id));
    }
    tokenizer->save(path);  // replaces the file
  }
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path)) ++files;
  CHECK(files == 3);  // nothing left behind
}

TEST_CASE("tokenizer.json: Hugging Face's keys, the vocabulary in the order of the ids") {
  const ordered_json bpe = small_bpe();
  CHECK(keys_of(bpe) == std::vector<std::string>{"version", "truncation", "padding", "added_tokens", "normalizer",
                                                 "pre_tokenizer", "post_processor", "decoder", "model"});
  CHECK(bpe["version"] == "1.0");
  CHECK(bpe["pre_tokenizer"].dump() ==
        R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})");
  CHECK(bpe["decoder"]["type"] == "ByteLevel");
  CHECK(bpe["added_tokens"].dump() == R"([{"id":258,"content":"<s>","single_word":false,"lstrip":false,)"
                                      R"("rstrip":false,"normalized":false,"special":true}])");
  CHECK(keys_of(bpe["model"]) == std::vector<std::string>{"type", "dropout", "unk_token", "continuing_subword_prefix",
                                                          "end_of_word_suffix", "fuse_unk", "byte_fallback",
                                                          "ignore_merges", "vocab", "merges"});
  const std::vector<std::string> vocab = keys_of(bpe["model"]["vocab"]);
  REQUIRE(vocab.size() == 259);
  for (int id = 0; id < 256; ++id) CHECK(vocab[id] == write_bytes(std::string(1, static_cast<char>(byte_order()[id]))));
  CHECK(vocab[256] == "ab");
  CHECK(vocab[257] == "abc");
  CHECK(vocab[258] == "<s>");
  CHECK(bpe["model"]["merges"].dump() == R"(["a b","ab c"])");

  const ordered_json chars = ordered_json::parse(train("char", 0, "b\na", {"<unk>"})->to_json());
  CHECK(chars["model"].dump() == R"({"type":"WordLevel","vocab":{"\n":0,"a":1,"b":2,"<unk>":3},"unk_token":"<unk>"})");
  CHECK(chars["pre_tokenizer"].dump() ==
        R"({"type":"Split","pattern":{"Regex":"[\\s\\S]"},"behavior":"Isolated","invert":false})");
  CHECK(chars["decoder"]["type"] == "Fuse");
  const ordered_json words = ordered_json::parse(train("word", 9, "to be")->to_json());
  CHECK(words["model"].dump() == R"({"type":"WordLevel","vocab":{" be":0,"to":1,"<unk>":2},"unk_token":"<unk>"})");
}

TEST_CASE("tokenizer.json: cl100k's pattern as Llama 3's file has it") {
  const auto tokenizer = train_tokenizer(
      {.kind = "bpe", .vocab = 300, .special_tokens = {"<s>"}, .pattern = SplitPattern::cl100k}, std::vector{kStory});
  const ordered_json file = ordered_json::parse(tokenizer->to_json());
  CHECK(file["pre_tokenizer"].dump() ==
        R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":)"
        R"("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|)"
        R"(\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},)"
        R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})");
  CHECK(file["decoder"]["type"] == "ByteLevel");
  const auto loaded = read(file);
  CHECK(loaded->to_json() == tokenizer->to_json());
  CHECK(loaded->encode(kStory) == tokenizer->encode(kStory));
  const auto pattern_of = [](const Tokenizer& any) { return dynamic_cast<const BpeTokenizer&>(any).pattern(); };
  CHECK(pattern_of(*loaded) == SplitPattern::cl100k);
  ordered_json gpt2 = file;
  gpt2["pre_tokenizer"] = small_bpe()["pre_tokenizer"];
  CHECK(pattern_of(*read(gpt2)) == SplitPattern::gpt2);
  // GPT-2's pattern may also be written in this way.
  ordered_json written_out = file;
  written_out["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] =
      "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
  CHECK(read(written_out)->to_json() == read(gpt2)->to_json());
  ordered_json inverted = file;
  inverted["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed";
  inverted["pre_tokenizer"]["pretokenizers"][0]["invert"] = true;
  CHECK(read(inverted)->to_json() == tokenizer->to_json());
  const auto message = [&](const char* pointer, const ordered_json& value) {
    ordered_json changed = file;
    changed[ordered_json::json_pointer(pointer)] = value;
    try {
      read(changed);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(
      message("/pre_tokenizer/pretokenizers/0/pattern/Regex", "x+") ==
      "t.json: pre_tokenizer: Split by \"x+\" is not supported, only by the pattern of gpt2, cl100k, qwen2 or smollm");
  CHECK(message("/pre_tokenizer/pretokenizers/0/invert", true) ==
        "t.json: pre_tokenizer: Split.invert: true is not supported, only false");
  CHECK(message("/pre_tokenizer/pretokenizers/1/use_regex", true) ==
        "t.json: pre_tokenizer: ByteLevel.use_regex: true is not supported, only false");
  CHECK(message("/pre_tokenizer/pretokenizers/1", {{"type", "ByteLevel"}}) ==
        "t.json: pre_tokenizer: ByteLevel: the key \"use_regex\" is missing");
  CHECK(message("/pre_tokenizer/pretokenizers/1/type", "Digits") ==
        "t.json: pre_tokenizer: an object of type \"Sequence\" is not supported for BPE, only ByteLevel, or Split and "
        "ByteLevel, or Metaspace");
}

TEST_CASE("tokenizer.json: files that others wrote") {
  // Merges as pairs, the empty prefixes, post-processor and missing model type of GPT-2's own file.
  ordered_json file = small_bpe();
  const auto ours = read(file);
  file["model"]["merges"] = ordered_json::parse(R"([["a", "b"], ["ab", "c"]])");
  file["model"].erase("type");
  file["model"]["continuing_subword_prefix"] = "";
  file["model"]["end_of_word_suffix"] = "";
  file["post_processor"] = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}};
  CHECK(read(file)->to_json() == ours->to_json());

  // Llama 3's file has a post-processor, which does not change the ids of the text itself.
  file["post_processor"] = ordered_json::parse(
      R"({"type":"Sequence","processors":[{"type":"ByteLevel"},{"type":"TemplateProcessing","single":[]}]})");
  CHECK(read(file)->to_json() == ours->to_json());

  // A special token in added_tokens alone.
  file = small_bpe();
  file["model"]["vocab"].erase("<s>");
  CHECK(read(file)->to_json() == ours->to_json());

  // Special tokens first, as Hugging Face's trainer gives them.
  file = small_bpe();
  file["model"]["vocab"]["<s>"] = 0;
  for (auto& [token, id] : file["model"]["vocab"].items()) {
    if (token != "<s>") id = id.get<int>() + 1;
  }
  file["added_tokens"][0]["id"] = 0;
  const auto shifted = read(file);
  CHECK(shifted->special("<s>") == 0);
  CHECK(shifted->decode(shifted->encode("abc\xFF ab<s>", true)) == "abc\xFF ab<s>");
  CHECK(shifted->encode("abcab<s>", true) == Ids{258, 257, 0});
  CHECK(Tokenizer::from_json(shifted->to_json(), "t.json")->to_json() == shifted->to_json());
}

TEST_CASE("tokenizer.json: what is wrong with a file is named in one line") {
  const auto message = [](const ordered_json& file) -> std::string {
    try {
      read(file);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const ordered_json good = small_bpe();
  CHECK(message(good) == "no error");
  // One key set to another value.
  const auto with = [&](const std::string& pointer, const ordered_json& value) {
    ordered_json file = good;
    file[ordered_json::json_pointer(pointer)] = value;
    return message(file);
  };
  const auto without = [&](const std::string& parent, const char* key) {
    ordered_json file = good;
    file[ordered_json::json_pointer(parent)].erase(key);
    return message(file);
  };
  CHECK_THROWS_WITH_AS(Tokenizer::from_json("{\"a\": ", "t.json"), "t.json: not valid JSON at byte 7", Error);
  CHECK(message(ordered_json::array()) == "t.json: file: expected an object, got a list");
  CHECK(without("", "model") == "t.json: file: the key \"model\" is missing");
  CHECK(without("", "pre_tokenizer") == "t.json: file: the key \"pre_tokenizer\" is missing");
  CHECK(without("/model", "vocab") == "t.json: model: the key \"vocab\" is missing");
  CHECK(without("/model", "merges") == "t.json: model: the key \"merges\" is missing");
  CHECK(with("/model", 3) == "t.json: model: expected an object, got 3");
  CHECK(with("/model/type", "Unigram") ==
        "t.json: model.type: \"Unigram\" is not supported, only \"BPE\", \"WordLevel\" and \"WordPiece\"");
  CHECK(with("/normalizer", {{"type", "NFKC"}}) ==
        "t.json: normalizer: an object of type \"NFKC\" is not supported for byte-level BPE, only null and NFC");
  CHECK(with("/post_processor", {{"type", "BertProcessing"}}) ==
        "t.json: post_processor: an object of type \"BertProcessing\" is not supported, only null, ByteLevel and "
        "TemplateProcessing");
  CHECK(with("/model/ignore_merges", 1) == "t.json: model.ignore_merges: expected true or false, got 1");
  CHECK(
      with("/pre_tokenizer", {{"type", "Whitespace"}}) ==
      "t.json: pre_tokenizer: an object of type \"Whitespace\" is not supported for BPE, only ByteLevel, or Split and "
      "ByteLevel, or Metaspace");
  CHECK(with("/pre_tokenizer/add_prefix_space", true) ==
        "t.json: pre_tokenizer.add_prefix_space: true is not supported, only false");
  CHECK(with("/model/dropout", 0.5) == "t.json: model.dropout: 0.5 is not supported, only null");
  CHECK(with("/model/end_of_word_suffix", "</w>") ==
        "t.json: model.end_of_word_suffix: \"</w>\" is not supported, only null");
  CHECK(with("/model/byte_fallback", 1) == "t.json: model.byte_fallback: 1 is not supported, only false");

  CHECK(with("/model/vocab", 3) == "t.json: model.vocab: expected an object, got 3");
  CHECK(with("/model/vocab/ab", "x") ==
        "t.json: model.vocab: token \"ab\": expected a token id (0 or more), got \"x\"");
  CHECK(with("/model/vocab/ab", -1) == "t.json: model.vocab: token \"ab\": expected a token id (0 or more), got -1");
  CHECK(with("/model/vocab/ab", 257) == "t.json: model.vocab: the tokens \"ab\" and \"abc\" have the same id 257");
  CHECK(with("/model/vocab/ab", 300) == "t.json: model.vocab: no token has the id 256, but \"abc\" has 257");
  CHECK(with("/model/vocab/a b", 259) == "t.json: model.vocab: token 259 is not made of GPT-2's byte-level characters");

  CHECK(with("/model/merges", 3) == "t.json: model.merges: expected a list, got 3");
  CHECK(with("/model/merges/1", "abc") ==
        "t.json: model.merges: merge 2 of 2: expected \"a b\" or [\"a\", \"b\"], got \"abc\"");
  CHECK(with("/model/merges/1", "a b c") ==
        "t.json: model.merges: merge 2 of 2: expected \"a b\" or [\"a\", \"b\"], got \"a b c\"");
  CHECK(with("/model/merges/1", {"a"}) ==
        "t.json: model.merges: merge 2 of 2: expected \"a b\" or [\"a\", \"b\"], got a list");
  CHECK(with("/model/merges/1", "ab xy") ==
        "t.json: model.merges: merge 2 of 2 (\"ab\" + \"xy\"): \"xy\" is not an ordinary token of the vocabulary");
  CHECK(with("/model/merges/1", "ab d") ==
        "t.json: model.merges: merge 2 of 2 (\"ab\" + \"d\"): \"abd\" is not an ordinary token of the vocabulary");
  CHECK(with("/model/merges/1", "a b") == "t.json: model.merges: merge 2 of 2 (\"a\" + \"b\") is there twice");

  CHECK(with("/added_tokens", 3) == "t.json: added_tokens: expected a list, got 3");
  CHECK(with("/added_tokens/0", 3) == "t.json: added_tokens: expected an object, got 3");
  CHECK(without("/added_tokens/0", "content") == "t.json: added_tokens: the key \"content\" is missing");
  CHECK(without("/added_tokens/0", "id") == "t.json: added_tokens: token \"<s>\": the key \"id\" is missing");
  CHECK(with("/added_tokens/0/content", 3) == "t.json: added_tokens: content: expected a string, got 3");
  CHECK(with("/added_tokens/0/content", "") == "t.json: added_tokens: the token with id 258 is empty");
  CHECK(with("/added_tokens/0/id", 5) == "t.json: added_tokens: token \"<s>\" has id 5, but in model.vocab 258");
  CHECK(with("/added_tokens/0/content", "<t>") ==
        "t.json: added_tokens: token \"<t>\" has the id 258 of the token \"<s>\"");
  CHECK(with("/added_tokens/0/single_word", true) ==
        "t.json: added_tokens: token \"<s>\".single_word: true is not supported, only false");
  CHECK(with("/added_tokens/1", good["added_tokens"][0]) == "t.json: added_tokens: token \"<s>\" is listed twice");

  ordered_json words = ordered_json::parse(train("word", 9, "to be")->to_json());
  words["added_tokens"].clear();
  CHECK(message(words) == "t.json: a word tokenizer needs the special token <unk>");
  words["model"]["unk_token"] = "[UNK]";
  CHECK(message(words) == "t.json: model.unk_token: \"[UNK]\" is not supported, only \"<unk>\"");
  words["pre_tokenizer"] = {{"type", "Whitespace"}};
  words["model"].erase("unk_token");
  CHECK(message(words) ==
        "t.json: pre_tokenizer: an object of type \"Whitespace\" is not supported for WordLevel, only Split by any "
        "character or by GPT-2's pattern");
  ordered_json chars = ordered_json::parse(train("char", 0, "ab")->to_json());
  chars["model"]["vocab"]["cd"] = 2;
  CHECK(message(chars) == "t.json: token 2 is not one character");
  chars["model"]["vocab"].erase("cd");
  chars["model"]["vocab"][""] = 2;
  CHECK(message(chars) == "t.json: token 2 is not one character");
}

TEST_CASE("tokenizer.json: files that cannot be read or written") {
  const TemporaryFolder folder("tokenizer-files");
  const auto at = [&](const char* name) { return (folder.path / name).string(); };
  CHECK_THROWS_WITH_AS(Tokenizer::load(at("none.json")),
                       ("cannot open " + at("none.json") + ": No such file or directory").c_str(), Error);
  CHECK_THROWS_WITH_AS(
      Tokenizer::load(folder.path),
      (folder.path.string() + ": expected a tokenizer, got a folder without tokenizer.json, vocab.txt or vocab.json")
          .c_str(),
      Error);
  std::ofstream(at("empty.json"));
  CHECK_THROWS_WITH_AS(Tokenizer::load(at("empty.json")), (at("empty.json") + ": not valid JSON at byte 1").c_str(),
                       Error);
  const auto tokenizer = train("char", 0, "abc");
  CHECK_THROWS_WITH_AS(tokenizer->save(at("none/t.json")),
                       ("cannot write " + at("none/t.json") + ": No such file or directory").c_str(), Error);
  // There is a folder of that name.
  std::filesystem::create_directories(folder.path / "taken.json" / "x");
  CHECK_THROWS_WITH_AS(tokenizer->save(at("taken.json")), (at("taken.json") + " is a folder, expected a file").c_str(),
                       Error);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    CHECK(entry.path().filename().string().find(".tmp-") == std::string::npos);
  }
}

TEST_CASE("tokenizer.json: added tokens that are not special") {
  ordered_json file = small_bpe();
  const auto add = [](std::int32_t id, const std::string& content, bool normalized) {
    return ordered_json{{"id", id},        {"content", content}, {"single_word", false},    {"lstrip", false},
                        {"rstrip", false}, {"special", false},   {"normalized", normalized}};
  };
  file["added_tokens"].push_back(add(259, "  ", true));
  file["added_tokens"].push_back(add(260, "   ", true));
  file["added_tokens"].push_back(add(261, "bca", false));
  const auto tokenizer = read(file);
  const std::int32_t ab = 256, abc = 257, s = 258;
  // The token that begins first is found, and the longest of several that begin there. Tokens that are not normalized
  // are found before all others.
  CHECK(tokenizer->encode("     abc") == Ids{260, 259, abc});
  CHECK(tokenizer->encode("abcabc") ==
        Ids{tokenizer->encode("a")[0], 261, tokenizer->encode("b")[0], tokenizer->encode("c")[0]});
  CHECK(tokenizer->encode("ab  <s>", true) == Ids{ab, 259, s});
  CHECK(tokenizer->decode(tokenizer->encode("   abcab  ")) == "   abcab  ");
  CHECK_FALSE(tokenizer->is_special(259));
  CHECK_FALSE(tokenizer->is_ordinary(259));
  CHECK_FALSE(tokenizer->special("  ").has_value());
  const ordered_json written = ordered_json::parse(tokenizer->to_json()), &added = written["added_tokens"];
  CHECK((added.size() == 4 && added[1]["special"] == false));
  CHECK((added[1]["normalized"] == true && added[3]["normalized"] == false));
  CHECK(read(written)->to_json() == tokenizer->to_json());

  const auto refused = [&](const char* key, const ordered_json& value, const std::string& message) {
    ordered_json other = file;
    other["added_tokens"][1][key] = value;
    CHECK_THROWS_WITH_AS(read(other), ("t.json: added_tokens: token " + message).c_str(), Error);
  };
  refused("single_word", true, "\"  \".single_word: true is not supported, only false");
  refused("special", "no", "\"  \".special: expected true or false, got \"no\"");
  refused("normalized", 1, "\"  \".normalized: expected true or false, got 1");
  refused("content", "New York",
          "\"New York\": white space behind a letter or a digit is not supported in a token that is not special");

  const TemporaryFolder folder("added");
  CHECK_THROWS_WITH_AS(tokenizer->save(folder.path / "pair/"),
                       "GPT-2's files cannot hold added tokens that are not special", Error);
  CHECK_THROWS_WITH_AS(tokenizer->save(folder.path / "t.tiktoken"),
                       "a file of ranks cannot hold added tokens that are not special", Error);
}

TEST_CASE("tokenizer.json: added tokens of the other kinds") {
  for (const std::string kind : {"char", "word"}) {
    ordered_json file = ordered_json::parse(train(kind, 10, "ab ab", {"<unk>"})->to_json());
    const auto id = file["model"]["vocab"].value("ab", static_cast<std::int32_t>(read(file)->vocab_size()));
    file["added_tokens"].push_back({{"id", id}, {"content", "ab"}, {"special", false}, {"normalized", true}});
    const auto tokenizer = read(file);
    CHECK(tokenizer->encode("abab") == Ids{id, id});
    CHECK(read(ordered_json::parse(tokenizer->to_json()))->to_json() == tokenizer->to_json());
  }
}
