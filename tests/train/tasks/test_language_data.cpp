#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/error.h"
#include "core/json.h"
#include "tasks/text/language_data.h"
#include "tests/data/texts.h"
#include "tests/train/toy.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

// The token files in the cache.
std::set<std::string> token_files() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(token_cache_folder())) {
    if (entry.path().extension() == ".tokens") names.insert(entry.path().filename().string());
  }
  return names;
}

// A configuration of characters on a text file.
Config on_text(const fs::path& text) {
  Config config = toy_config();
  remove_corpus(config);
  config.data.text = {text.string()};
  return config;
}

std::string decoded(const LanguageData& data, const TokenFile& file) {
  std::vector<std::int32_t> ids(file.size());
  file.copy(0, ids);
  return data.tokenizer->decode(ids);
}

const std::string kText = "abcdefghijklmnopqrstuvwxyz abcdefghijklm";  // 40 characters

}  // namespace

TEST_CASE("language data: a pipe is JSON lines where a file of its name would be, and messages call it by that name") {
  const CacheFolder folder;
  const fs::path pipe = folder.path / "pipe.jsonl";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  Config config = on_text(pipe);
  config.data.valid_fraction = 0;
  const std::string line = "{\"text\": \"" + kText + "\"}\n";
  const auto read = [&](const std::string& bytes) {
    std::thread writer([&] { std::ofstream(pipe) << bytes; });
    const ResolvedConfig resolved = resolve(config);
    try {
      LanguageData data = prepare_language_data(resolved);
      writer.join();
      return decoded(data, data.train);
    } catch (const Error& error) {
      writer.join();
      return std::string(error.what());
    }
  };
  CHECK(read(line + line) == kText + "<|endoftext|>" + kText + "<|endoftext|>");
  CHECK(read(line + "no\n") == pipe.string() + ":2: not valid JSON at byte 2");
}

TEST_CASE("language data: the last part of the text is for validation") {
  const CacheFolder folder;
  Config config = on_text(folder.write("text.txt", kText));
  config.data.valid_fraction = 0.25;
  const LanguageData data = prepare_language_data(resolve(config));
  CHECK(decoded(data, data.train) == kText.substr(0, 30));
  REQUIRE(data.valid.has_value());
  CHECK(decoded(data, *data.valid) == kText.substr(30));
  CHECK(data.valid->text_bytes() == 10);

  config.data.valid_fraction = 0;
  const LanguageData whole = prepare_language_data(resolve(config));
  CHECK(decoded(whole, whole.train) == kText);
  CHECK_FALSE(whole.valid.has_value());

  config.data.valid_fraction = 0.02;  // one token: nothing to predict
  CHECK_FALSE(prepare_language_data(resolve(config)).valid.has_value());
}

TEST_CASE("language data: validation files of their own leave the whole text to training") {
  const CacheFolder folder;
  Config config = on_text(folder.write("text.txt", kText));
  config.data.valid = {folder.write("valid.txt", "some other words").string()};
  const LanguageData data = prepare_language_data(resolve(config));
  CHECK(decoded(data, data.train) == kText);
  CHECK(decoded(data, *data.valid) == "some other words");

  config.data.valid = {folder.write("short.txt", "s").string()};  // it was given, so that it is not left out unsaid
  CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)), "data.valid: the text has 1 tokens, expected at least 2",
                       Error);
}

TEST_CASE("language data: of the validation text, data.valid_bytes reads the beginning") {
  const CacheFolder folder;
  Config config = on_text(folder.write("text.txt", kText));
  config.data.valid_fraction = 0.25;
  const auto validation = [&](std::int64_t bytes) {
    config.data.valid_bytes = bytes;
    const LanguageData data = prepare_language_data(resolve(config));
    CHECK(decoded(data, data.train) == kText.substr(0, config.data.valid.empty() ? 30 : 40));
    const std::string text = decoded(data, data.valid.value());
    CHECK(data.valid->text_bytes() == std::ssize(text));
    return text;
  };
  CHECK(validation(4) == kText.substr(30, 4));
  CHECK(validation(10) == kText.substr(30));
  CHECK(validation(11) == kText.substr(30));
  config.data.valid_fraction = 0;
  config.data.valid = {folder.write("valid.txt", "some other \xC3\xA9 words").string()};
  CHECK(validation(7) == "some ot");
  CHECK(validation(12) == "some other ");  // half a character is not read
  CHECK(validation(13) == "some other \xC3\xA9");
  CHECK(validation(100) == "some other \xC3\xA9 words");
  config.data.valid_bytes = 1;
  CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)), "data.valid: the text has 1 tokens, expected at least 2",
                       Error);
}

TEST_CASE("language data: the vocabulary of characters has those of the validation text") {
  const CacheFolder folder;
  Config config = on_text(folder.write("text.txt", std::string(100, 'a') + "\xC3\xA9z"));
  const LanguageData split = prepare_language_data(resolve(config));
  CHECK(split.tokenizer->vocab_size() == 3);
  CHECK(decoded(split, *split.valid) == "aaaaaaaa\xC3\xA9z");

  config.data.valid = {folder.write("valid.txt", "!?").string()};
  CHECK(prepare_language_data(resolve(config)).tokenizer->vocab_size() == 5);
}

TEST_CASE("language data: byte pairs are learned from the training text alone") {
  const CacheFolder folder;
  std::string text;
  for (int i = 0; i < 90; ++i) text += "aaaaaaaa ";
  for (int i = 0; i < 10; ++i) text += "zzzzzzzz ";
  Config config = on_text(folder.write("text.txt", text));
  config.tokenizer.kind = TokenizerKind::bpe, config.tokenizer.vocab = 260;
  const LanguageData data = prepare_language_data(resolve(config));
  CHECK(data.tokenizer->kind() == "bpe");
  CHECK(data.tokenizer->vocab_size() == 260);
  CHECK(data.tokenizer->special("<|endoftext|>") == 259);
  CHECK(decoded(data, *data.valid) == text.substr(text.size() - 90));
  CHECK(data.valid->size() == 90);  // no merge of z
  CHECK(data.train.size() < 810 / 2);
}

TEST_CASE("language data: token files are made once for a text and a tokenizer") {
  const CacheFolder folder;
  Config config = on_text(folder.write("text.txt", kText));
  const LanguageData first = prepare_language_data(resolve(config));
  const std::set<std::string> files = token_files();
  CHECK(files.size() == 2);
  const auto written = fs::last_write_time(first.train.path());
  fs::last_write_time(first.train.path(), written - std::chrono::hours(1));
  const LanguageData second = prepare_language_data(resolve(config));
  CHECK(second.train.path() == first.train.path());
  CHECK(fs::last_write_time(first.train.path()) == written - std::chrono::hours(1));  // not written again
  CHECK(token_files() == files);

  folder.write("text.txt", kText + kText);
  const LanguageData third = prepare_language_data(resolve(config));
  CHECK(decoded(third, third.train) + decoded(third, *third.valid) == kText + kText);
  CHECK(token_files().size() == 4);

  config.tokenizer.kind = TokenizerKind::bpe, config.tokenizer.vocab = 257;
  prepare_language_data(resolve(config));
  CHECK(token_files().size() == 6);
}

TEST_CASE("language data: a tokenizer that is given or read back gives the same tokens") {
  const CacheFolder folder;
  Config config = toy_config();
  const LanguageData learned = prepare_language_data(resolve(config));
  const std::string json = learned.tokenizer->to_json();
  const LanguageData again = prepare_language_data(resolve(config), Tokenizer::from_json(json, "test"));
  CHECK(again.tokenizer->to_json() == json);
  CHECK(again.train.path() == learned.train.path());

  config.tokenizer.file = folder.write("tokenizer.json", json).string();
  config.tokenizer.kind = TokenizerKind::bpe;  // the file decides
  const LanguageData from_file = prepare_language_data(resolve(config));
  CHECK(from_file.tokenizer->kind() == "char");
  CHECK(from_file.train.path() == learned.train.path());
  CHECK(from_file.valid->path() == learned.valid->path());
}

TEST_CASE("language data: documents that follow each other without a mark are told") {
  const CacheFolder folder;
  Config config = on_text(folder.write("text.txt", kText));
  const std::string without = prepare_language_data(resolve(config)).tokenizer->to_json();
  config.data.document = DocumentEnd::line;
  CHECK(prepare_language_data(resolve(config)).warnings.empty());  // the tokenizer that is learned has the mark
  config.tokenizer.file = folder.write("tokenizer.json", without).string();
  const std::vector<std::string> told{
      "the tokenizer has no token <|endoftext|>: the documents of the text follow each other without a mark"};
  CHECK(prepare_language_data(resolve(config)).warnings == told);
  config.data.document = DocumentEnd::none;
  CHECK(prepare_language_data(resolve(config)).warnings.empty());
  config.data.valid = {folder.write("valid.jsonl", "{\"text\": \"a text\"}\n{\"text\": \"other\"}\n").string()};
  config.tokenizer.file = "";
  CHECK(prepare_language_data(resolve(config)).warnings == told);
}

TEST_CASE("language data: a generated corpus follows its seed and lines") {
  const CacheFolder folder;
  Config config = toy_config();
  const LanguageData data = prepare_language_data(resolve(config));
  CHECK(decoded(data, data.train) + decoded(data, *data.valid) == generate_corpus("stories", 20, 1));
  config.data.seed = 2;
  const LanguageData other = prepare_language_data(resolve(config));
  CHECK(decoded(other, other.train) + decoded(other, *other.valid) == generate_corpus("stories", 20, 2));
}

TEST_CASE("language data: JSON lines and compressed files split as plain text does, a document ends with its token") {
  const CacheFolder folder;
  const std::string first = "once upon a time", second = "there was a text";
  const std::string lines = "{\"body\": \"" + first + "\"}\n{\"body\": \"" + second + "\"}\n";
  Config config = on_text(folder.write("text.jsonl.gz", gzip(lines)));
  config.data.text_field = "body";
  config.data.valid_fraction = 0.25;
  const LanguageData data = prepare_language_data(resolve(config));
  CHECK(data.tokenizer->special("<|endoftext|>").has_value());
  CHECK(decoded(data, data.train) == first + "<|endoftext|>" + second.substr(0, 8));
  CHECK(decoded(data, *data.valid) == second.substr(8) + "<|endoftext|>");
  CHECK(data.valid->text_bytes() == 8);

  // The same documents as lines of plain text have the same hash, so the same token files.
  config.data.text = {folder.write("text.txt", first + "\n" + second).string()};
  config.data.document = DocumentEnd::line;
  const LanguageData plain = prepare_language_data(resolve(config));
  CHECK(plain.train.path() == data.train.path());
  CHECK(plain.valid->path() == data.valid->path());

  config.data.document = DocumentEnd::none;
  const LanguageData whole = prepare_language_data(resolve(config));
  CHECK(decoded(whole, whole.train) + decoded(whole, *whole.valid) == first + "\n" + second);
  CHECK_FALSE(whole.tokenizer->special("<|endoftext|>").has_value());
}

TEST_CASE("language data: a text that has not changed for a while is not read again") {
  const CacheFolder folder;
  Config config = on_text(PROJECT_ROOT "/CMakePresets.json");
  const LanguageData first = prepare_language_data(resolve(config));
  const auto entries = std::distance(fs::directory_iterator(token_cache_folder()), {});
  CHECK(entries == 4);  // training, validation, the tokenizer, and the text's summary
  std::string summary;
  for (const auto& entry : fs::directory_iterator(token_cache_folder())) {
    if (entry.path().filename().string().starts_with("text-")) summary = entry.path().string();
  }
  // Whoever reads the text finds another hash than this, and makes other token files.
  auto changed = nlohmann::json::parse(read_all(summary));
  REQUIRE(unseal_json(changed));
  changed["hash"] = 7;
  seal_json(changed);
  std::ofstream(summary) << changed.dump();
  const LanguageData second = prepare_language_data(resolve(config));
  CHECK(second.train.path() != first.train.path());
  CHECK(prepare_language_data(resolve(config)).train.path() == second.train.path());
}

TEST_CASE("language data: progress is shown for each kind of work") {
  const CacheFolder folder;
  Config config = on_text(folder.write("text.txt", kText));
  config.tokenizer.kind = TokenizerKind::bpe, config.tokenizer.vocab = 260;
  std::set<std::string> kinds;
  double last = 0;
  prepare_language_data(resolve(config), nullptr, [&](std::string what) {
    kinds.insert(what);
    return [&](double share) { last = share; };
  });
  CHECK(kinds == std::set<std::string>{"reading the text", "counting words", "learning merges", "encoding the text"});
  CHECK(last == 1);
}

TEST_CASE("language data: of several files the one that is not UTF-8 is named, with its own byte") {
  const CacheFolder folder;
  const auto good = folder.write("good.txt", kText), bad = folder.write("bad.txt", kText + "\xFF");
  // A character across two reads, and the beginning of one at the end.
  const std::size_t mebibyte = std::size_t{1} << 20;
  const auto across = folder.write("across.txt", std::string(mebibyte - 1, 'a') + "\xC3\xA9\xC3");
  const auto refused = [](Config config, const std::filesystem::path& file, std::size_t byte) {
    const std::string message =
        str_cat(file.string(), ": invalid UTF-8 at byte ", byte, "; a bpe tokenizer takes any bytes");
    for (const TokenizerKind kind : {TokenizerKind::character, TokenizerKind::word}) {
      config.tokenizer.kind = kind;
      CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)), message.c_str(), Error);
    }
  };
  Config config = on_text(good);
  config.data.valid_fraction = 0;  // a tokenizer of words learns from training text alone
  config.data.text = {good.string(), bad.string()};
  refused(config, bad, 40);
  config.data.text = {good.string(), across.string()};
  refused(config, across, mebibyte + 1);
  // Other errors are said as they are, though a file is not UTF-8.
  config = on_text(good);
  config.data.text = {good.string(), bad.string()};
  config.tokenizer.kind = TokenizerKind::word;
  CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)),
                       "the training text has 4 tokens: model.context = 16 takes at least 17", Error);
  config = on_text(good);
  config.data.valid = {bad.string()};
  config.tokenizer.kind = TokenizerKind::character;
  const std::string message = str_cat(bad.string(), ": invalid UTF-8 at byte 40; a bpe tokenizer takes any bytes");
  CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)), message.c_str(), Error);
}

TEST_CASE("language data: what is refused") {
  const CacheFolder folder;
  Config config = on_text(folder.write("text.txt", kText.substr(0, 16)));
  config.data.valid_fraction = 0;
  CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)),
                       "the training text has 16 tokens: model.context = 16 takes at least 17", Error);
  folder.write("text.txt", kText.substr(0, 17));
  CHECK(prepare_language_data(resolve(config)).train.size() == 17);
  folder.write("text.txt", "");
  CHECK_THROWS_AS(prepare_language_data(resolve(config)), Error);
  folder.write("text.txt", kText + "\xFF");
  const std::string message =
      str_cat((folder.path / "text.txt").string(), ": invalid UTF-8 at byte 40; a bpe tokenizer takes any bytes");
  CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)), message.c_str(), Error);
  const std::set<std::string> files = token_files();
  config.data.text = {folder.write("text.gz", gzip(kText).substr(0, 30)).string()};
  CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)),
                       doctest::Contains("truncated: its compressed data ends too soon"), Error);
  CHECK(token_files() == files);
  config.data.text = {(folder.path / "none").string()};
  CHECK_THROWS_AS(prepare_language_data(resolve(config)), Error);
}

TEST_CASE("language data: the cache's folder") {
  ::setenv("TAPEFORMER_CACHE", "/a/b", 1);
  CHECK(token_cache_folder() == "/a/b");
  ::unsetenv("TAPEFORMER_CACHE");
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const std::string before = xdg ? xdg : "";
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  CHECK(token_cache_folder() == "/x/tapeformer");
  xdg ? ::setenv("XDG_CACHE_HOME", before.c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
}
