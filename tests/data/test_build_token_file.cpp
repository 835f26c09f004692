// A file of tokens is made from a text, in parts.
#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/data/token_files.h"

using namespace tapeformer;
namespace fs = std::filesystem;

TEST_CASE("build token file: each piece has the ids that it has by itself, whatever the parts") {
  const TempFolder folder;
  const std::string first = varied_text(700) + "x\n", second = "hello again\n";
  const auto tokenizer = train("bpe", 400, first + second);
  Ids expected = tokenizer->encode(first);
  const Ids more = tokenizer->encode(second);
  expected.insert(expected.end(), more.begin(), more.end());
  const MemoryText source(std::vector<std::string>{first, second});
  for (const std::size_t chunk_bytes : {200, 1000, 1 << 20}) {
    const TokenFile file = build(folder.path / "a", source, *tokenizer, chunk_bytes);
    file.verify();
    CHECK(ids_of(file) == expected);
    CHECK(file.text_bytes() == static_cast<std::int64_t>(first.size() + second.size()));
    CHECK(file.source_hash() == whole(source).hash());
    CHECK(file.tokenizer_hash() == tokenizer->hash());
  }
  CHECK(folder.entries() == 1);
}

TEST_CASE("build token file: documents end with the end-of-text token where the tokenizer has it") {
  const TempFolder folder;
  MemoryText::Fragments fragments;
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    fragments.emplace_back(str_cat("document ", i), i % 10 == 9 ? Bound::piece : Bound::document);
    text += fragments.back().first + "\n";
  }
  const MemoryText source(fragments);
  const auto with = train("bpe", 300, text, {"<|endoftext|>"}), without = train("bpe", 300, text);
  Ids expected, plain;
  for (const auto& [document, bound] : fragments) {
    const Ids ids = with->encode(document), others = without->encode(document);
    expected.insert(expected.end(), ids.begin(), ids.end());
    if (bound == Bound::document) expected.push_back(*with->special("<|endoftext|>"));
    plain.insert(plain.end(), others.begin(), others.end());
  }
  CHECK(ids_of(build(folder.path / "a", source, *with)) == expected);
  CHECK(ids_of(build(folder.path / "a", source, *with, 100)) == expected);
  CHECK(ids_of(build(folder.path / "a", source, *without)) == plain);
}

TEST_CASE("build token file: training and validation come from one reading, and make up the whole") {
  const TempFolder folder;
  const MemoryText source(varied_text(2000));
  const auto tokenizer = train("char", 0, varied_text(2000));
  const TextSummary summary = summarize(source);
  const std::int64_t cut = summary.split(0.3);
  source.times_read = 0;
  TextReader reader(source, 500);
  build_token_file(folder.path / "train", reader, {summary, 0, cut}, *tokenizer);
  build_token_file(folder.path / "valid", reader, {summary, cut, summary.bytes}, *tokenizer);
  CHECK(source.times_read == 1);
  const TokenFile train_file = TokenFile::open(folder.path / "train"), valid = TokenFile::open(folder.path / "valid");
  CHECK(std::abs(train_file.text_bytes() - cut) <= 3);
  CHECK(train_file.text_bytes() + valid.text_bytes() == summary.bytes);
  CHECK(tokenizer->decode(ids_of(train_file)) + tokenizer->decode(ids_of(valid)) == varied_text(2000));
  // A part that is encoded alone has the same ids.
  TextReader another(source);
  build_token_file(folder.path / "again", another, {summary, cut, summary.bytes}, *tokenizer);
  CHECK(ids_of(TokenFile::open(folder.path / "again")) == ids_of(valid));
}

TEST_CASE("build token file: tells how far it is") {
  const TempFolder folder;
  MemoryText::Fragments fragments;
  for (int i = 0; i < 10; ++i) fragments.emplace_back("abcabcabc\n", Bound::none);
  const MemoryText source(fragments);
  const auto tokenizer = train("char", 0, "abc\n");
  TextReader reader(source, 20);
  std::vector<double> shares;
  build_token_file(folder.path / "a", reader, whole(source), *tokenizer,
                   [&](double share) { shares.push_back(share); });
  CHECK(shares.size() >= 5);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.front() < 0.5);
  CHECK(shares.back() == 1);
}

TEST_CASE("build token file: nothing is left of a text that cannot be encoded, cannot be read, or changes meanwhile") {
  const TempFolder folder;
  const auto tokenizer = train("char", 0, "abc\n");
  CHECK_THROWS_WITH_AS(build(folder.path / "a", MemoryText("a\xff"), *tokenizer),
                       "memory: char tokenizer: invalid UTF-8 at byte 1; a bpe tokenizer takes any bytes", Error);
  CHECK_THROWS_WITH_AS(build(folder.path / "a", MemoryText("abc\nabc\n\xff"), *tokenizer, 4),
                       doctest::Contains("memory: the text from byte 7 on: char tokenizer: "), Error);
  CHECK(folder.entries() == 0);

  MemoryText changing("abc");
  const TextRange range = whole(changing);
  changing.stamped.value = 2;
  TextReader reader(changing);
  CHECK_THROWS_WITH_AS(build_token_file(folder.path / "a", reader, range, *tokenizer),
                       "the text was changed while it was encoded", Error);
  CHECK(folder.entries() == 0);

  std::string text;
  for (int i = 0; i < 300000; ++i) text += "abc\n"[i % 4];
  const fs::path path = folder.write("a.gz", gzip(text));
  const TextRange all = whole(FileText({path}, {}));
  folder.write("a.gz", gzip(text).substr(0, 200));
  const FileText truncated({path}, {});
  TextReader short_reader(truncated, 1000);
  CHECK_THROWS_WITH_AS(build_token_file(folder.path / "a", short_reader, all, *tokenizer),
                       (path.string() + ": truncated: its compressed data ends too soon").c_str(), Error);
  CHECK(folder.entries() == 1);
}
