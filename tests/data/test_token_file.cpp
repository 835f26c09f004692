#include <doctest/doctest.h>

#include <chrono>
#include <iterator>

#include "autograd/core/error.h"
#include "autograd/core/random.h"
#include "data/token_file.h"
#include "tokenizer/pretokenizer.h"
#include "tests/temp_folder.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

using Pieces = std::vector<std::string_view>;
using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> train(const std::string& kind, std::int64_t vocab, const Pieces& texts) {
  return train_tokenizer(TokenizerOptions{.kind = kind, .vocab = vocab, .special_tokens = {}}, texts);
}

Ids ids_of(const TokenFile& file) {
  Ids out(file.size());
  file.copy(0, out);
  return out;
}

// English-like text with all that a pre-tokenizer looks at: runs of white space, contractions, numbers, other scripts.
std::string varied_text(int words) {
  static const char* const kWords[] = {"the", "cat's", "don't", "We'll", "123",    "4567", "naïve", "日本",
                                       "…",   "--",    "a",     "x1y2",  "\u00A0", "!?",   "ok"};
  static const char* const kGaps[] = {" ", " ", " ", "\n", "\n\n", "  ", " \n", "\n ", "\r\n", "\t", "\n\n\n  ", ""};
  std::string text;
  RandomStream random(RandomKey{.seed = 3});
  for (int i = 0; i < words; ++i) {
    text += kWords[random.below(std::size(kWords))];
    text += kGaps[random.below(std::size(kGaps))];
  }
  return text;
}

void overwrite(const fs::path& path, std::int64_t offset, std::string_view bytes) {
  std::string all = read_all(path);
  all.replace(offset, bytes.size(), bytes);
  std::ofstream(path, std::ios::binary) << all;
}

}  // namespace

TEST_CASE("token file: holds the ids of the text, its size and the hashes") {
  const TempFolder folder;
  const Pieces text = {"hello world\n", "hello again\n"};
  const auto tokenizer = train("char", 0, text);
  build_token_file(folder.path / "a.tokens", text, *tokenizer);
  const TokenFile file = TokenFile::open(folder.path / "a.tokens");
  file.verify();
  CHECK(file.size() == 24);
  CHECK(file.text_bytes() == 24);
  CHECK(file.id_bits() == 16);
  CHECK(file.source_hash() == source_hash(text));
  CHECK(file.tokenizer_hash() == tokenizer->hash());
  CHECK(ids_of(file) == tokenizer->encode("hello world\nhello again\n"));
  CHECK(file[0] == tokenizer->encode("h")[0]);
  CHECK(fs::file_size(file.path()) == 64 + 24 * 2);
  CHECK(folder.entries() == 1);
}

TEST_CASE("token file: 16 bits an id up to 65536 tokens, 32 beyond, the same ids") {
  // A vocabulary of as many different words as asked for.
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 70000; ++i) text += concat("w", i, " ");
  const auto tokenizer = train("word", 70010, {text});
  REQUIRE(tokenizer->vocab_size() > 65536);
  const Pieces pieces = {text};
  build_token_file(folder.path / "wide", pieces, *tokenizer);
  const TokenFile file = TokenFile::open(folder.path / "wide");
  CHECK(file.id_bits() == 32);
  CHECK(ids_of(file) == tokenizer->encode(text));
}

TEST_CASE("source hash: tells texts and the bounds of their pieces apart") {
  CHECK(source_hash(Pieces{"ab", "c"}) == source_hash(Pieces{"ab", "c"}));
  CHECK(source_hash(Pieces{"ab", "c"}) != source_hash(Pieces{"a", "bc"}));
  CHECK(source_hash(Pieces{"abc"}) != source_hash(Pieces{"abd"}));
}

TEST_CASE("safe cut: text encoded in parts has the ids of the whole, for every kind of tokenizer") {
  const std::string text = varied_text(4000);
  for (const char* kind : {"char", "word", "bpe"}) {
    CAPTURE(kind);
    const auto tokenizer = train(kind, 400, {text});
    const Ids whole = tokenizer->encode(text);
    for (const std::size_t part_bytes : {1, 10, 300}) {
      Ids parts;
      int cuts = 0;
      for (std::string_view rest = text; !rest.empty(); ++cuts) {
        const std::size_t cut = safe_cut(rest, part_bytes);
        const Ids ids = tokenizer->encode(rest.substr(0, cut));
        parts.insert(parts.end(), ids.begin(), ids.end());
        rest.remove_prefix(cut);
      }
      CHECK(cuts > 20);
      CHECK(parts == whole);
    }
  }
}

TEST_CASE("token file: a text of several parts has the ids of the whole") {
  const TempFolder folder;
  const std::string line = varied_text(1000) + ".\n";
  std::string text;
  while (text.size() < (std::size_t{17} << 20)) text += line;
  const auto tokenizer = train("char", 0, {line});
  const Pieces pieces = {text};
  build_token_file(folder.path / "a", pieces, *tokenizer);
  const TokenFile file = TokenFile::open(folder.path / "a");
  CHECK(file.text_bytes() == static_cast<std::int64_t>(text.size()));
  CHECK(ids_of(file) == tokenizer->encode(text));
}

TEST_CASE("cached token file: reused while text and tokenizer are unchanged, else built") {
  const TempFolder folder;
  const fs::path cache = folder.path / "deep" / "cache";
  const Pieces text = {"some text\n"}, other = {"same text\n"};
  const Pieces both = {text[0], other[0]};
  const auto chars = train("char", 0, both), words = train("word", 50, both);
  const fs::path path = cached_token_file(cache, "train", text, *chars).path();
  CHECK(path.filename().string().starts_with("train-"));
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(5);
  fs::last_write_time(path, long_ago);
  const auto built = fs::last_write_time(path);

  const TokenFile again = cached_token_file(cache, "train", text, *chars);
  CHECK(again.path() == path);
  CHECK(fs::last_write_time(path) == built);
  CHECK(ids_of(again) == chars->encode(text[0]));

  CHECK(ids_of(cached_token_file(cache, "train", other, *chars)) == chars->encode(other[0]));
  CHECK(ids_of(cached_token_file(cache, "train", text, *words)) == words->encode(text[0]));
  CHECK(std::distance(fs::directory_iterator(cache), {}) == 3);
  CHECK(fs::last_write_time(path) == built);

  // A damaged file is not believed, and neither is another's under this name.
  overwrite(path, 64, "\x7f");
  CHECK(ids_of(cached_token_file(cache, "train", text, *chars)) == chars->encode(text[0]));
  fs::resize_file(path, 65);
  CHECK(ids_of(cached_token_file(cache, "train", text, *chars)) == chars->encode(text[0]));
  build_token_file(path, other, *chars);
  CHECK(ids_of(cached_token_file(cache, "train", text, *chars)) == chars->encode(text[0]));
  CHECK(std::distance(fs::directory_iterator(cache), {}) == 3);
}

TEST_CASE(
    "cached token file: nothing half-written when the text cannot be encoded; an error for an impossible folder") {
  const TempFolder folder;
  const auto tokenizer = train("char", 0, {"abc"});
  CHECK_THROWS_AS(cached_token_file(folder.path, "train", Pieces{"a\xff"}, *tokenizer), Error);
  CHECK(folder.entries() == 0);
  const std::string impossible = (folder.write("file", "x") / "cache").string();
  CHECK_THROWS_WITH_AS(cached_token_file(impossible, "train", Pieces{"abc"}, *tokenizer),
                       ("cannot make folder " + impossible + ": Not a directory").c_str(), Error);
}

TEST_CASE("token file: errors for truncated, foreign, other-version and damaged files") {
  const TempFolder folder;
  const fs::path path = folder.path / "a.tokens";
  const std::string where = "token file " + path.string() + ": ";
  const auto tokenizer = train("char", 0, {"abc"});
  const auto build = [&] { build_token_file(path, Pieces{"abcabcabc"}, *tokenizer); };
  const auto message = [&]() -> std::string {
    try {
      TokenFile::open(path).verify();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(message() == "cannot open " + path.string() + ": No such file or directory");
  build();
  CHECK(message() == "no error");
  fs::resize_file(path, 81);
  CHECK(message() == where + "truncated: expected 82 bytes for 9 ids of 16 bits, got 81");
  fs::resize_file(path, 90);
  CHECK(message() == where + "expected 82 bytes for 9 ids of 16 bits, got 90");
  fs::resize_file(path, 30);
  CHECK(message() == where + "truncated: expected a header of 64 bytes, got 30");
  build();
  overwrite(path, 0, "TAPE");
  CHECK(message() == where + "not a token file");
  folder.write("a.tokens", "");
  CHECK(message() == where + "not a token file");
  build();
  overwrite(path, 8, "\x02");
  CHECK(message() == where + "version 2, expected 1");
  build();
  overwrite(path, 16, "\x08");
  CHECK(message() == where + "damaged header: its checksum differs");
  build();
  overwrite(path, 70, "\x7f");
  CHECK(message() == where + "damaged: the checksum of its ids differs");
}
