// Tokenizers of published models: ids by Hugging Face's tokenizers, made by golden/make_pieces.py.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/text/utf8.h"
#include "helpers.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/masked_symbols.h"
#include "tokenizer/pieces/wordpiece_tokenizer.h"
#include "tokenizer/unicode/normalization.h"

using namespace tapeformer;

namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

const std::string kGoldenFolder = std::string(TEST_DATA) + "/golden/";

const json& pieces() {
  static const json read = json::parse(std::ifstream(kGoldenFolder + "pieces.json"));
  return read;
}

// The file of a tokenizer of pieces.json.
json file_of(const json& tokenizer) {
  const std::string base = tokenizer["base"];
  json file = pieces()["files"].contains(base) ? pieces()["files"][base]
                                               : json::parse(std::ifstream(kGoldenFolder + base + ".json"));
  file.merge_patch(tokenizer["change"]);
  return file;
}

json named(const std::string& name) {
  for (const json& tokenizer : pieces()["tokenizers"]) {
    if (tokenizer["name"] == name) return file_of(tokenizer);
  }
  FAIL("no tokenizer ", name);
  return {};
}

std::unique_ptr<Tokenizer> read(const json& file) { return Tokenizer::from_json(file.dump(), "t"); }

std::string error_of(const json& file) {
  try {
    read(file);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("pieces: the ids and texts of Hugging Face's tokenizers, also after writing the file") {
  const json& texts = pieces()["texts"];
  for (const json& tokenizer : pieces()["tokenizers"]) {
    const std::string name = tokenizer["name"];
    CAPTURE(name);
    const auto first = read(file_of(tokenizer));
    const auto again = Tokenizer::from_json(first->to_json(), "written");
    CHECK(again->to_json() == first->to_json());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string text = texts[i];
      CAPTURE(text);
      const Ids ids = tokenizer["ids"][i];
      CHECK(first->encode(text, true) == ids);
      CHECK(again->encode(text, true) == ids);
      // Hugging Face writes a space before special tokens and signs for bytes that are no text.
      const std::string decoded = tokenizer["decoded"][i];
      const bool has_extra = std::ranges::any_of(ids, [&](std::int32_t id) { return !first->is_ordinary(id); });
      if (!has_extra && decoded.find("\uFFFD") == decoded.npos && !decoded.starts_with("##")) {
        CHECK(first->decode(ids) == decoded);
      }
    }
  }
}

TEST_CASE("pieces: a text that continues another has no space before it") {
  const auto llama = read(named("llama"));
  const std::string text = "The gull came down. Then";
  const Ids whole = llama->encode(text);
  for (std::size_t at = text.find(' '); at != text.npos; at = text.find(' ', at + 1)) {
    if (at > 0 && text[at - 1] == '.') continue;  // not between a letter and a space
    Ids parts = llama->encode(text.substr(0, at));
    for (const std::int32_t id : llama->encode_continuation(text.substr(at))) parts.push_back(id);
    CHECK(parts == whole);
  }
  CHECK(llama->decode(whole) == text);
  CHECK(llama->decode_continuation(whole) == " " + text);
  CHECK(llama->encode_continuation("").empty());
  for (const std::string name : {"bert", "gemma", "qwen2"}) {
    const auto other = read(named(name));
    CHECK(other->encode_continuation(text) == other->encode(text));
  }
  // A text behind a special token.
  for (const json& tokenizer : pieces()["tokenizers"]) {
    const auto other = read(file_of(tokenizer));
    const std::int32_t special = other->special_ids().back();
    if (other->special_flags(special).normalized) continue;
    Ids ids = other->encode_after_token("down to 118 planks");
    ids.insert(ids.begin(), special);
    CHECK(other->encode(str_cat(other->token_bytes(special), "down to 118 planks"), true) == ids);
  }
}

TEST_CASE("pieces: long texts have the ids of their lines, for any number of threads") {
  std::string text, line = "The g\u00FCll came down to 118 planks \U0001F41F\n";
  for (int i = 0; i < 16000; ++i) text += line;
  for (const std::string name : {"llama", "metaspace always", "bert", "smollm", "qwen2"}) {
    CAPTURE(name);
    const auto tokenizer = read(named(name));
    const int threads = thread_count();
    set_thread_count(1);
    const Ids ids = tokenizer->encode(text);
    set_thread_count(3);
    CHECK(tokenizer->encode(text) == ids);
    set_thread_count(threads);
    Ids expected = tokenizer->encode(line);
    const Ids rest = tokenizer->encode_continuation(line);
    for (int i = 1; i < 16000; ++i) expected.insert(expected.end(), rest.begin(), rest.end());
    CHECK(ids == expected);
  }
}

TEST_CASE("pieces: special tokens that stand around a text") {
  const auto llama = read(named("llama")), bert = read(named("bert"));
  CHECK(llama->frame().before == Ids{1});
  CHECK(llama->frame().after.empty());
  CHECK(bert->frame().before == Ids{masked_symbols(*bert).classification});
  CHECK(bert->frame().after == Ids{masked_symbols(*bert).separator});
  CHECK(bert->unknown_id() == bert->special("[UNK]"));
  CHECK(bert->encode("a") == bert->encode("a", true));
}

TEST_CASE("pieces: BERT's vocab.txt is read as its tokenizer.json") {
  const TemporaryFolder folder("vocab");
  for (const std::string name : {"bert", "cased"}) {
    json file = named(name);
    std::vector<std::string> tokens(file["model"]["vocab"].size());
    for (const auto& [token, id] : file["model"]["vocab"].items()) tokens[id] = token;
    std::string text;
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      std::string& token = tokens[id];
      // Only a cased vocabulary has upper-case letters.
      const bool upper = std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; });
      if (name == "bert" && upper && !token.starts_with('[')) token = str_cat("unused", id);
      text += token + "\n";
    }
    write_file_atomically(folder.path / "vocab.txt", text);
    const auto loaded = Tokenizer::load(folder.path);
    const auto& rules = dynamic_cast<const WordPieceTokenizer&>(*loaded).rules();
    CHECK(rules.normalizer.lowercase == (name == "bert"));
    CHECK(loaded->frame().before == Ids{masked_symbols(*loaded).classification});
    CHECK(loaded->frame().after == Ids{masked_symbols(*loaded).separator});
    if (name == "cased") {
      CHECK(loaded->encode("The G\u00FCll, 118!", true) == read(file)->encode("The G\u00FCll, 118!", true));
    }
  }
  write_file_atomically(folder.path / "vocab.txt", "[UNK]\na\n\nb\n");
  CHECK_THROWS_WITH_AS(
      Tokenizer::load(folder.path / "vocab.txt"),
      str_cat((folder.path / "vocab.txt").string(), ": line 3: expected a token in UTF-8, got an empty line").c_str(),
      Error);
  write_file_atomically(folder.path / "vocab.txt", "a\nb\n");
  CHECK_THROWS_WITH_AS(
      Tokenizer::load(folder.path / "vocab.txt"),
      str_cat((folder.path / "vocab.txt").string(), ": model.unk_token: the token \"[UNK]\" is not in the vocabulary")
          .c_str(),
      Error);
}

TEST_CASE("pieces: what is not supported is refused by name") {
  struct Refused {
    std::string base, patch, message;
  };
  const std::vector<Refused> all = {
      {"llama", R"({"normalizer": {"type": "Precompiled"}})",
       "t: normalizer: an object of type \"Precompiled\" is not supported here for BPE over characters, only Prepend, "
       "then "
       "Replace"},
      {"llama", R"({"normalizer": null})", "t: normalizer: nothing replaces spaces by \"\u2581\""},
      {"llama", R"({"pre_tokenizer": {"type": "Whitespace"}})",
       "t: pre_tokenizer: an object of type \"Whitespace\" is not supported here for BPE over characters, only "
       "Metaspace "
       "without a normalizer"},
      {"llama", R"({"model": {"ignore_merges": true}})", "t: model.ignore_merges: true is not supported, only false"},
      {"llama", R"({"model": {"dropout": 0.1}})", "t: model.dropout: 0.1 is not supported, only null"},
      {"llama", R"({"model": {"vocab": {"<0x41>": null, "~": 68}}})", "t: model.byte_fallback: byte 65 has no token"},
      {"llama", R"({"model": {"byte_fallback": false, "unk_token": null}})",
       "t: model.unk_token: the token \"\" is not in the vocabulary"},
      {"llama", R"({"model": {"merges": [["e", "~"]]}})",
       "t: model.merges: merge 1 of 1 (\"e\" + \"~\"): \"~\" is not an ordinary token of the vocabulary"},
      {"llama", R"({"decoder": {"type": "CTC"}})",
       "t: decoder: an object of type \"CTC\" is not supported for BPE over characters"},
      {"llama", R"({"post_processor": {"type": "BertProcessing"}})",
       "t: post_processor: an object of type \"BertProcessing\" is not supported, only null, ByteLevel and "
       "TemplateProcessing"},
      {"metaspace first", R"({"pre_tokenizer": {"prepend_scheme": "last"}})",
       "t: pre_tokenizer: Metaspace.prepend_scheme: \"last\" is not supported, only \"always\", \"first\" and "
       "\"never\""},
      {"bert", R"({"normalizer": {"type": "NFKC"}})",
       "t: normalizer: an object of type \"NFKC\" is not supported for WordPiece, only BertNormalizer"},
      {"bert", R"({"pre_tokenizer": {"type": "Whitespace"}})",
       "t: pre_tokenizer: an object of type \"Whitespace\" is not supported for WordPiece, only BertPreTokenizer"},
      {"bert", R"({"model": {"unk_token": "<none>"}})",
       "t: model.unk_token: the token \"<none>\" is not in the vocabulary"},
      {"bert", R"({"model": {"max_input_chars_per_word": "many"}})",
       "t: model.max_input_chars_per_word: expected a token id (0 or more), got \"many\""},
      {"qwen2", R"({"normalizer": {"type": "NFKC"}})",
       "t: normalizer: an object of type \"NFKC\" is not supported for byte-level BPE, only null and NFC"},
      {"smollm",
       R"({"pre_tokenizer": {"pretokenizers": [{"type": "Digits"}, {"type": "ByteLevel", "add_prefix_space": false}]}})",
       "t: pre_tokenizer: Digits: individual_digits: false is not supported, only true"},
  };
  for (const Refused& refused : all) {
    json file = named(refused.base);
    file.merge_patch(json::parse(refused.patch));
    CHECK(error_of(file) == refused.message);
  }
  json file = named("llama");
  file["added_tokens"][4]["single_word"] = true;
  CHECK(error_of(file) == "t: added_tokens: token \"<keep>\".single_word: true is not supported, only false");
  for (const int which : {3, 4}) {
    file = named("llama");
    file["added_tokens"][which]["normalized"] = true;
    CHECK(error_of(file).ends_with("lstrip and rstrip are not supported in a normalized token here"));
  }
  file = named("llama");
  file["post_processor"]["special_tokens"]["<s>"]["ids"] = json::array({100000});
  CHECK(
      error_of(file).starts_with("t: post_processor: TemplateProcessing: the id 100000 is outside the vocabulary of "));
}

TEST_CASE("pieces: an added token whose normal form is empty is found nowhere") {
  json file = named("bert");
  const auto bert = read(file);
  file["added_tokens"].push_back(
      {{"id", bert->vocab_size()}, {"content", "\u200d"}, {"special", false}, {"normalized", true}});
  CHECK(read(file)->encode("hello there") == bert->encode("hello there"));
}

TEST_CASE("pieces: normal forms of Unicode") {
  CHECK(nfc("e\u0301\u0327") == "\u0229\u0301");
  CHECK(nfc("\u1112\u1161\u11AB\u212B\u0344") == "\uD55C\u00C5\u0308\u0301");
  CHECK(nfc("\u0958 \xFF a") == "\u0915\u093C \xFF a");  // excluded from composition; other bytes stay
  CHECK(to_utf8(nfd(code_points("\u1E69\uAC01"))) == "s\u0323\u0307\u1100\u1161\u11A8");
  // A composition taken apart comes together again.
  for (std::int32_t c = 0x80; c < 0x3000; ++c) {
    std::string text;
    append_utf8(text, c);
    const std::string composed = nfc(text);
    CHECK(nfc(to_utf8(nfd(code_points(text)))) == composed);
    CHECK(nfc(composed) == composed);
  }
}

TEST_CASE("gguf vocabulary: a tokenizer gives the same ids after it") {
  const json& texts = pieces()["texts"];
  // sentencepiece from a file has merges of its own, and those of scores have the order of the tokens they make.
  json llama = named("llama");
  llama["added_tokens"].erase(4), llama["added_tokens"].erase(3);
  std::vector<std::unique_ptr<Tokenizer>> all;
  std::vector<std::string> warnings;
  GgufVocabulary scored{.model = "llama", .unknown_id = 0, .add_bos = true};
  scored.tokens.resize(llama["model"]["vocab"].size());
  for (const auto& [token, id] : llama["model"]["vocab"].items()) scored.tokens[id] = token;
  scored.bos = 1, scored.eos = 2;
  for (std::size_t id = 0; id < scored.tokens.size(); ++id) {
    scored.types.push_back(id == 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1);
    scored.scores.push_back(id < 259 ? 0 : -static_cast<float>(id));
  }
  all.push_back(tokenizer_of(scored, "f"));
  CHECK(all.back()->frame().before == Ids{1});
  CHECK(all.back()->unknown_id() == 0);
  for (const std::string name : {"smollm", "qwen2"}) all.push_back(read(named(name)));
  json cl100k = json::parse(std::ifstream(kGoldenFolder + "cl100k.json"));
  cl100k["model"]["ignore_merges"] = true;
  for (const json& file : {cl100k, json::parse(std::ifstream(kGoldenFolder + "gpt2.json"))}) all.push_back(read(file));
  all.push_back(train("char", 60, "ab c<>|/s\n", {"<s>", "</s>"}));
  for (const auto& tokenizer : all) {
    CAPTURE(tokenizer->to_json().substr(0, 2000));
    const GgufVocabulary written = gguf_vocabulary(*tokenizer, warnings);
    const auto again = tokenizer_of(written, "f");
    CHECK(again->frame().before == tokenizer->frame().before);
    CHECK(std::ranges::equal(again->special_ids(), tokenizer->special_ids()));
    for (const json& text : texts) {
      const std::string bytes = tokenizer->kind() == "char" ? "ab c</s>a" : text.get<std::string>();
      CHECK(again->encode(bytes, true) == tokenizer->encode(bytes, true));
    }
  }
  CHECK(all.front()->encode("The gull came down") == read(llama)->encode("The gull came down"));
  CHECK(warnings.size() == 1);
  json qwen2 = named("qwen2");
  qwen2["normalizer"] = nullptr;
  gguf_vocabulary(*read(qwen2), warnings);
  CHECK(warnings.back().starts_with("an import of the file brings text into Unicode's normalization form C"));
}

TEST_CASE("gguf vocabulary: what has no place there is refused by name") {
  std::vector<std::string> warnings;
  const auto error = [&](const auto& call) {
    try {
      call();
      return std::string();
    } catch (const Error& thrown) {
      return std::string(thrown.what());
    }
  };
  const auto of = [&](const Tokenizer& tokenizer) { return error([&] { gguf_vocabulary(tokenizer, warnings); }); };
  CHECK(of(*read(named("bert"))) == "a wordpiece tokenizer has no place in GGUF");
  CHECK(of(*read(named("llama"))) ==
        "the special token \"<|user|>\" takes white space with it (lstrip, rstrip), for which GGUF has no place");
  CHECK(of(*train("char", 60, "\u00E9", {})) ==
        "a char tokenizer has a place in GGUF only if all its characters are ASCII, got \"\u00E9\"");
  json llama = named("unknown characters");
  llama["added_tokens"] = json::array();
  CHECK(of(*read(llama)) == "a tokenizer without tokens of bytes (byte_fallback) has no place in GGUF");
  llama = named("llama");
  llama["added_tokens"] = json::array();
  std::swap(llama["model"]["merges"][0], llama["model"]["merges"][20]);
  CHECK(of(*read(llama)) == "the tokenizer's merges do not follow from scores of its tokens, as GGUF's have to");
  const auto from = [&](const GgufVocabulary& vocabulary) { return error([&] { tokenizer_of(vocabulary, "f"); }); };
  CHECK(from({.model = "bert"}) == "f: tokenizer.ggml.model: \"bert\" is not supported, only \"gpt2\" and \"llama\"");
  CHECK(from({.model = "gpt2", .pre = "deepseek"}) ==
        "f: tokenizer.ggml.pre: \"deepseek\" is not supported, only gpt-2, llama-bpe, qwen2, smollm, gpt2, llama3");
  CHECK(from({.model = "gpt2", .pre = "gpt-2"}) == "f: tokenizer.ggml.tokens: expected some tokens");
  CHECK(from({.model = "gpt2", .pre = "gpt-2", .tokens = {"a", "a"}}) ==
        "f: tokenizer.ggml.tokens: token 1 is that of 0 too");
  CHECK(from({.model = "gpt2", .pre = "gpt-2", .tokens = {"a", "b"}, .types = {1}}) ==
        "f: tokenizer.ggml.token_type: expected 2 values, got 1");
  CHECK(from({.model = "gpt2", .pre = "gpt-2", .tokens = {"a", "b"}, .types = {1, 9}}) ==
        "f: tokenizer.ggml.token_type: token 1 has the type 9, expected 1 to 6");
  CHECK(from({.model = "gpt2", .pre = "gpt-2", .tokens = {"a", "b"}, .merges = {"ab"}}) ==
        "f: tokenizer.ggml.merges: merge 1 of 1: expected \"a b\", got \"ab\"");
  CHECK(from({.model = "llama", .tokens = {"a", "b"}, .scores = {0}}) ==
        "f: tokenizer.ggml.scores: expected 2 values, got 1");
  CHECK(from({.model = "llama", .tokens = {"a", "b"}, .scores = {0, NAN}}) ==
        "f: tokenizer.ggml.scores: the score of token 1 is not a number");
  CHECK(from({.model = "gpt2", .pre = "gpt-2", .tokens = {"a", "b"}, .bos = 7, .add_bos = true}) ==
        "f: tokenizer.ggml.bos_token_id: expected an id below 2");
}
