// vocab.json and merges.txt, and how path and content tell the format of a file.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "helpers.h"
#include "tokenizer/formats/gpt2_files.h"

using namespace tapeformer;

namespace {

using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> small() { return train("bpe", 259, "abc\nabc\nabc\nab", {"<s>"}); }

std::unique_ptr<Tokenizer> read(const Gpt2Files& files, const std::vector<std::string>& specials = {}) {
  return read_gpt2_files(files, {"v", "m"}, SplitPattern::gpt2, specials);
}

void write(const std::filesystem::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("gpt2 files: as GPT-2's are written") {
  const Gpt2Files files = write_gpt2_files(*small());
  CHECK(files.merges == "#version: 0.2\na b\nab c\n");
  CHECK(files.vocab.starts_with(R"({"!": 0, "\"": 1, "#": 2, )"));
  CHECK(files.vocab.ends_with("\"\u0143\": 255, \"ab\": 256, \"abc\": 257, \"<s>\": 258}\n"));
}

TEST_CASE("gpt2 files: another pattern is named in the first line of merges.txt, said, and found again") {
  const TemporaryFolder folder("pattern");
  const std::string_view text = kStory;
  const auto cl100k = train_tokenizer(
      {.kind = "bpe", .vocab = 300, .special_tokens = {"<s>"}, .pattern = SplitPattern::cl100k}, std::span(&text, 1));
  const auto path = folder.path / "pair/";
  CHECK(cl100k->save(path) ==
        std::vector<std::string>{
            "GPT-2's files have no place for the split pattern, cl100k: the first line of merges.txt "
            "names it, but other programs will split by gpt2's"});
  CHECK(read_file(path / "merges.txt").starts_with("#version: 0.2 pattern: cl100k\n"));
  CHECK(Tokenizer::load(path)->to_json() == cl100k->to_json());
  CHECK(Tokenizer::load(path, {SplitPattern::gpt2, {}})->split_pattern() == SplitPattern::gpt2);
  CHECK(cl100k->save(folder.path / "t.json").empty());
  CHECK(small()->save(path).empty());
  CHECK(Tokenizer::load(path)->to_json() == small()->to_json());
  CHECK(small()->save(folder.path / "t.tiktoken") ==
        std::vector<std::string>{
            "tiktoken's files do not hold the split pattern, gpt2, and the special tokens: name what "
            "is missing on reading"});
  Gpt2Files files = write_gpt2_files(*small());
  files.merges = "#version: 0.2 pattern: o200k\n";
  CHECK(message_of([&] {
          read_gpt2_files(files, {"v", "m"}, std::nullopt, {});
        }) == "m: line 1: unknown pattern \"o200k\", expected gpt2, cl100k, qwen2 or smollm");
}

TEST_CASE("gpt2 and rank files: rules for which they have no place are said, as Qwen2's normalization") {
  const TemporaryFolder folder("rules");
  auto file = nlohmann::ordered_json::parse(small()->to_json());
  file["normalizer"] = {{"type", "NFC"}};
  file["added_tokens"][0]["rstrip"] = true;
  file["post_processor"] = nlohmann::ordered_json::parse(
      R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},)"
      R"( {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],)"
      R"( "special_tokens": {"<s>": {"id": "<s>", "ids": [258], "tokens": ["<s>"]}}})");
  const auto tokenizer = Tokenizer::from_json(file.dump(), "t");
  CHECK(tokenizer->save(folder.path / "t.json").empty());
  const auto as_in = [&](const std::string& files, const std::string& name) {
    const std::vector<std::string> lines = tokenizer->save(folder.path / name);
    REQUIRE(lines.size() >= 3);
    return std::vector(lines.end() - 3, lines.end()) ==
           std::vector{
               files +
                   " have no place for Unicode's normalization form C: whoever reads them gives other ids "
                   "to text that is not in that form",
               files + " have no place for the special tokens around a text: whoever reads them puts none there",
               files +
                   " have no place for what special tokens do with the text beside them (lstrip, rstrip, "
                   "normalized): whoever reads them leaves it as it is"};
  };
  CHECK(as_in("GPT-2's files", "pair/"));
  CHECK(as_in("tiktoken's files", "t.tiktoken"));
}

TEST_CASE("gpt2 files: read back equal, ids as vocab.json has them") {
  const auto tokenizer = train("bpe", 350, std::string(kStory) + "\u00E9\U0001F642\"\\", {"<|endoftext|>", "\u00DF x"});
  CHECK(read(write_gpt2_files(*tokenizer))->to_json() == tokenizer->to_json());

  // Ids in any order, and lines that end with \r\n.
  Gpt2Files files = write_gpt2_files(*small());
  auto vocab = nlohmann::json::parse(files.vocab);
  for (auto& [token, id] : vocab.items()) id = 258 - id.get<int>();
  files = {vocab.dump(1), "a b\r\n\r\nab c"};
  const auto turned = read(files);
  CHECK(turned->encode("abcab<s>", true) == Ids{1, 2, 0});
  CHECK(turned->special("<s>") == 0);
  CHECK(read(write_gpt2_files(*turned))->to_json() == turned->to_json());
}

TEST_CASE("gpt2 files: merges that were cut off are missed where a token with a space needs them") {
  const auto tokenizer = train("bpe", 258, "x ab ab ab ab", {});  // "ab", " ab"
  Gpt2Files files = write_gpt2_files(*tokenizer);
  const std::size_t last = files.merges.rfind('\n', files.merges.size() - 2) + 1;
  REQUIRE(tokenizer->token_bytes(257) == " ab");
  files.merges.resize(last);
  CHECK(message_of([&] { read(files); }) == "m: not whole: no merge makes the token \"\u0120ab\" of v");
  CHECK(message_of([&] { write_gpt2_files(*train("bpe", 257, "ab", {"\u0120x"})); }) ==
        "GPT-2's files would take the special token \"\u0120x\" for one of text that no merge makes");
}

TEST_CASE("gpt2 files: special tokens are what no merge makes, and those given") {
  const Gpt2Files files = write_gpt2_files(*small());
  CHECK(read(files)->special_ids().size() == 1);
  CHECK(read(files, {"<s>", "<pad>"})->special("<pad>") == 259);
  CHECK(read(files, {"<pad>=261"})->special("<pad>") == 261);
  CHECK(read(files, {"<s>=258"})->vocab_size() == 259);  // as it is
  CHECK(message_of([&] { read(files, {"ab"}); }) == "special token 'ab' is another token as well");
  CHECK(message_of([&] { read(files, {"<s>=300"}); }) == "special token '<s>' is another token as well");
  CHECK(message_of([&] { read(files, {"<t>=257"}); }) ==
        "tokenizer: special token '<t>': the id 257 is another token's");
  CHECK(message_of([&] { read(files, {"<t>=2000000000"}); }) ==
        "tokenizer: special token '<t>': the id 2000000000 is too far behind the other tokens, 259");
  CHECK(read(files, {"<t>=1258"})->special_ids().size() == 1 + 1000);  // the others are unused
  CHECK(message_of([&] { read(files, {"<t>=1259"}); }) ==
        "tokenizer: special token '<t>': the id 1259 is too far behind the other tokens, 259");
  CHECK(message_of([&] { read(files, {"<t>=-1"}); }) == "tokenizer: special token '<t>=-1': the id is out of range");
  CHECK(message_of([&] { read(files, {"<t>=3000000000"}); }) ==
        "tokenizer: special token '<t>=3000000000': the id is out of range");
  CHECK(message_of([&] { read(files, {"<t>", "<t>"}); }) == "tokenizer: special token '<t>' is given twice");
  CHECK(message_of([&] { read(files, {""}); }) == "tokenizer: a special token is empty");
}

TEST_CASE("gpt2 files: what they cannot hold") {
  CHECK(message_of([] { write_gpt2_files(*train("char", 0, "ab")); }) ==
        "a char tokenizer cannot be written as GPT-2's files, only bpe");
  auto file = nlohmann::json::parse(small()->to_json());
  file["model"]["merges"].erase(1);
  const auto unmade = [&] { write_gpt2_files(*Tokenizer::from_json(file.dump(), "t")); };
  CHECK(message_of(unmade) == "no merge makes the token \"abc\": GPT-2's files would take it for a special one");
  file["model"]["ignore_merges"] = true;
  CHECK(message_of(unmade) == "GPT-2's files cannot say that pretokens may be tokens to which no merges lead");
}

TEST_CASE("load: the format by the path or the content") {
  const TemporaryFolder folder("formats");
  const auto at = [&](const std::string& name) { return folder.path / name; };
  const auto tokenizer = train("bpe", 300, kStory, {"<|endoftext|>"});
  const std::string json = tokenizer->to_json();
  const FileOptions gpt2{SplitPattern::gpt2, {"<|endoftext|>"}};

  tokenizer->save(at("pair/"));
  CHECK(std::filesystem::exists(at("pair/merges.txt")));
  for (const char* name : {"pair", "pair/", "pair/vocab.json", "pair/merges.txt"}) {
    CHECK(Tokenizer::load(at(name))->to_json() == json);
  }
  tokenizer->save(at("pair"));  // a folder that exists
  std::filesystem::copy(at("pair/vocab.json"), at("x-vocab.json"));
  std::filesystem::copy(at("pair/merges.txt"), at("x-merges.txt"));
  CHECK(Tokenizer::load(at("x-merges.txt"))->to_json() == json);
  CHECK(Tokenizer::load(at("x-vocab.json"), {SplitPattern::cl100k, {}})->to_json() != json);

  for (const char* name : {"y-vocab.json", "z-merges.txt"}) {
    tokenizer->save(at(name));
    CHECK(Tokenizer::load(at(name))->to_json() == json);
  }
  CHECK(std::filesystem::exists(at("y-merges.txt")));
  CHECK(std::filesystem::exists(at("z-vocab.json")));

  tokenizer->save(at("t.tiktoken"));
  CHECK(Tokenizer::load(at("t.tiktoken"), gpt2)->to_json() == json);
  std::filesystem::copy(at("t.tiktoken"), at("ranks"));
  CHECK(Tokenizer::load(at("ranks"), gpt2)->to_json() == json);
  tokenizer->save(at("plain"));
  CHECK(Tokenizer::load(at("plain"))->to_json() == json);
  write(at("spaced"), "\r\n\t " + json);
  CHECK(Tokenizer::load(at("spaced"))->to_json() == json);
  std::filesystem::create_directories(at("alone"));
  tokenizer->save(at("alone/tokenizer.json"));
  CHECK(Tokenizer::load(at("alone"))->to_json() == json);
  tokenizer->save(at("pair/tokenizer.json"));  // it is preferred to the pair
  CHECK(Tokenizer::load(at("pair"))->to_json() == json);

  const auto refused = [&](const char* name, const FileOptions& options, const std::string& message) {
    CHECK(message_of([&] { Tokenizer::load(at(name), options); }) == at(name).string() + message);
  };
  refused("plain", {SplitPattern::gpt2, {}}, ": a tokenizer.json itself says how text is split: expected no pattern");
  refused("plain", {{}, {"<s>"}}, ": a tokenizer.json itself has its special tokens: expected none beside it");
  refused(
      "t.tiktoken", {},
      ": tiktoken's files do not say how text is split: expected a pattern, gpt2, cl100k, qwen2 or smollm, beside it");
  write(at("json.tiktoken"), json);
  refused("json.tiktoken", gpt2, ": line 1: expected a token in base64 and its rank, got \"{\"");
  write(at("alone-vocab.json"), "{}");
  CHECK(message_of([&] { Tokenizer::load(at("alone-vocab.json")); }) ==
        "cannot open " + at("alone-merges.txt").string() + ": No such file or directory");
}

TEST_CASE("load: the tokens that files of a folder add to its tokenizer are read, as in transformers") {
  const TemporaryFolder folder("added");
  const auto at = [&](const std::string& name) { return (folder.path / name).string(); };
  const auto tokenizer = small();
  std::filesystem::create_directories(at("pair"));
  tokenizer->save(at("pair"));
  std::filesystem::create_directories(at("words"));
  write(at("words/vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\n");
  write(at("words/added_tokens.json"), R"({"[MASK]": 4})");
  CHECK(Tokenizer::load(at("words"))->vocab_size() == 6);
  write(at("words/added_tokens.json"), R"({"dog": 6})");
  CHECK((Tokenizer::load(at("words"))->encode("cat dog") == std::vector<std::int32_t>{5, 6}));
  write(at("pair/added_tokens.json"), R"({"<s>": 258})");
  CHECK(Tokenizer::load(at("pair"))->to_json() == tokenizer->to_json());
  write(at("pair/added_tokens.json"), R"({"<s>": 258, "<pad>": 259})");
  CHECK(Tokenizer::load(at("pair"))->added_tokens().front().id == 259);
  CHECK(Tokenizer::load(at("pair"), {{}, {"<pad>"}})->special("<pad>") == 259);
  tokenizer->save(at("pair/tokenizer.json"));
  CHECK(Tokenizer::load(at("pair/tokenizer.json"))->added_tokens().empty());
  CHECK(Tokenizer::load(at("pair"))->added_tokens().front().text == "<pad>");
  write(at("pair/tokenizer_config.json"),
        R"({"added_tokens_decoder": {"259": {"content": "<think>", "special": true}}})");
  CHECK(Tokenizer::load(at("pair"))->special("<think>") == 259);
}

TEST_CASE("load: a byte order mark before a vocabulary or merges is no part of their first line") {
  const TemporaryFolder folder("marked");
  const auto at = [&](const std::string& name) { return (folder.path / name).string(); };
  const std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\n", mark = "\xEF\xBB\xBF";
  write(at("vocab.txt"), mark + words);
  CHECK(Tokenizer::load(at("vocab.txt"))->special("[PAD]") == 0);
  const auto tokenizer = small();
  std::filesystem::create_directories(at("pair"));
  tokenizer->save(at("pair"));
  for (const std::string name : {"pair/vocab.json", "pair/merges.txt"}) write(at(name), mark + read_file(at(name)));
  CHECK(Tokenizer::load(at("pair"))->to_json() == tokenizer->to_json());
}

TEST_CASE("load: the tokenizer_config.json beside BERT's vocab.txt says how its text is normalized") {
  const TemporaryFolder folder("settings");
  const auto at = [&](const std::string& name) { return (folder.path / name).string(); };
  write(at("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n\u4E2D\u4E2D\n");
  const auto ids = [&](const std::string& settings) {
    write(at("tokenizer_config.json"), settings);
    const auto tokenizer = Tokenizer::load(at("vocab.txt"));
    CHECK(Tokenizer::load(folder.path)->to_json() == tokenizer->to_json());
    return tokenizer->encode("The c\u00E1t \u4E2D\u4E2D");
  };
  CHECK(ids("{}") == Ids{5, 6, 1, 1});
  CHECK(ids(R"({"do_lower_case": true, "strip_accents": null})") == Ids{5, 6, 1, 1});
  CHECK(ids(R"({"do_lower_case": false})") == Ids{1, 1, 1, 1});
  CHECK(ids(R"({"do_lower_case": false, "strip_accents": true})") == Ids{1, 6, 1, 1});
  CHECK(ids(R"({"do_lower_case": null, "strip_accents": false})") == Ids{5, 1, 1, 1});
  CHECK(ids(R"({"tokenize_chinese_chars": false})") == Ids{5, 6, 7});
  CHECK(message_of([&] { ids(R"({"do_lower_case": "no"})"); }) ==
        at("vocab.txt") + ": tokenizer_config.json.do_lower_case: expected true or false, got \"no\"");
}

TEST_CASE("save: a file of the folder that is read in place of the written ones is told") {
  const TemporaryFolder folder("preferred");
  const std::string pair = (folder.path / "pair").string();
  std::filesystem::create_directories(pair);
  CHECK(small()->save(pair).empty());
  train("bpe", 258, "xyxy")->save(pair + "/tokenizer.json");
  CHECK(small()->save(pair) ==
        std::vector<std::string>{pair + " has a tokenizer.json too, which is read where the folder is named"});
  CHECK(small()->save(pair + "/vocab.json").empty());  // files that are named are read by their names
  std::filesystem::remove(pair + "/tokenizer.json");
  write(pair + "/vocab.txt", "a\n");
  CHECK(small()->save(pair) ==
        std::vector<std::string>{pair + " has a vocab.txt too, which is read where the folder is named"});
}

TEST_CASE("load and save: what has the place of a file is named, and nothing is left of a pair that is half there") {
  const TemporaryFolder folder("places");
  const auto at = [&](const std::string& name) { return (folder.path / name).string(); };
  const auto refused = [&](const std::string& name, const std::string& message) {
    CHECK(message_of([&] { Tokenizer::load(at(name)); }) == message);
  };
  const auto tokenizer = small();
  std::filesystem::create_directories(at("a/merges.txt"));
  const std::string taken = at("a/merges.txt") + " is a folder, expected a file";
  CHECK(message_of([&] { tokenizer->save(at("a")); }) == taken);
  CHECK_FALSE(std::filesystem::exists(at("a/vocab.json")));
  write(at("a/vocab.json"), write_gpt2_files(*tokenizer).vocab);
  refused("a", taken);
  std::filesystem::create_directories(at("b/tokenizer.json"));
  refused("b", at("b/tokenizer.json") +
                   ": expected a tokenizer, got a folder without tokenizer.json, vocab.txt or vocab.json");
  std::filesystem::create_symlink("circle", at("circle"));
  refused("circle", "cannot look at " + at("circle") + ": Too many levels of symbolic links");
  std::filesystem::create_directories(at("c"));
  std::filesystem::create_symlink("tokenizer.json", at("c/tokenizer.json"));
  refused("c", "cannot look at " + at("c/tokenizer.json") + ": Too many levels of symbolic links");
  REQUIRE(::mkfifo(at("pipe.json").c_str(), 0600) == 0);
  refused("pipe.json", at("pipe.json") + " is not a regular file");
  write(at("file"), "");
  CHECK(message_of([&] { tokenizer->save(at("file/")); }) == "cannot make folder " + at("file/") + ": File exists");
}
