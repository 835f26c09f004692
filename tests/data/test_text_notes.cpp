// What is odd about text files: each kind is mended or passed on, counted, and told once.
#include <doctest/doctest.h>

#include "core/error.h"
#include "data/text/encode_text.h"
#include "data/text/text_source.h"
#include "tests/data/texts.h"
#include "tests/temp_folder.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

struct ReadText {
  std::string text;
  std::vector<std::string> notes;
};

ReadText read_with_notes(const std::vector<fs::path>& paths, const TextOptions& options = {}) {
  const FileText source(paths, options);
  TextReader reader(source, 1000);
  ReadText out;
  for (TextChunk part; reader.next(part);) out.text += part.text;
  out.notes = reader.notes().lines();
  CHECK(summarize(source).notes.lines() == out.notes);
  return out;
}

const std::string kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

TEST_CASE("text notes: nothing is odd about plain text") {
  const TempFolder folder;
  CHECK(read_with_notes({folder.write("a.txt", "one"), folder.write("b.txt", varied_text(300))}).notes.empty());
  CHECK(read_with_notes({folder.write("a.gz", gzip("one")), folder.write("b.zst", zstd("two"))}).notes.empty());
  CHECK(read_with_notes({folder.write("a.jsonl", R"({"text": "\ud83d\ude42 \\ud83d"})")}).text == "\U0001F642 \\ud83d");
}

TEST_CASE("text notes: files without text are skipped") {
  const TempFolder folder;
  const fs::path full = folder.write("full.txt", "x"), empty = folder.write("empty.txt", ""),
                 other = folder.write("other.jsonl", "\n{\"text\": \"\"}\n");
  const ReadText one = read_with_notes({empty, full});
  CHECK(one.text == "x");
  CHECK(one.notes == std::vector<std::string>{"1 file has no text and is skipped: " + empty.string()});
  CHECK(read_with_notes({full, other, empty}).notes ==
        std::vector<std::string>{"2 files have no text and are skipped; the first: " + other.string()});
}

TEST_CASE("text notes: a byte order mark is removed, at the beginning of each file and nowhere else") {
  const TempFolder folder;
  const fs::path first = folder.write("a.txt", kByteOrderMark + "one" + kByteOrderMark),
                 second = folder.write("b.jsonl.gz", gzip(kByteOrderMark + R"({"text": "two"})"));
  const ReadText out = read_with_notes({first, second});
  CHECK(out.text == "one" + kByteOrderMark + "two");
  CHECK(out.notes == std::vector<std::string>{"2 files begin with a byte order mark, which is removed; the first: " +
                                              first.string()});
  CHECK(read_with_notes({folder.write("c.txt", "\xEF\xBB")}).text == "\xEF\xBB");
}

TEST_CASE("text notes: half of a pair of escapes in JSON becomes U+FFFD") {
  const TempFolder folder;
  const auto text_of = [&](const std::string& escaped) {
    const fs::path path = folder.write("a.jsonl", "{\"text\": \"ok\"}\n{\"text\": \"" + escaped + "\"}\n");
    const ReadText out = read_with_notes({path});
    CHECK(out.notes ==
          std::vector<std::string>{"1 line of JSON has half of a pair of \\u escapes, which is replaced by U+FFFD: " +
                                   path.string() + ":2"});
    return out.text.substr(2);
  };
  const std::string replaced = "\xEF\xBF\xBD";
  CHECK(text_of(R"(a\ud83d)") == "a" + replaced);
  CHECK(text_of(R"(\uDE42b)") == replaced + "b");
  CHECK(text_of(R"(\ud83d\ud83d\ude42)") == replaced + "\U0001F642");
  CHECK(text_of(R"(\ud83d\n\\\uD83D)") == replaced + "\n\\" + replaced);
  CHECK(text_of(R"(\ud83dude42)") == replaced + "ude42");
}

TEST_CASE("text notes: bytes 0 behind a gzip file are ignored, other bytes are an error") {
  const TempFolder folder;
  const std::string text = varied_text(100000);
  for (const std::size_t zeros : {std::size_t{1}, std::size_t{512}, std::size_t{1} << 19}) {
    const fs::path path = folder.write("a.gz", gzip(text) + gzip("more") + std::string(zeros, '\0'));
    const ReadText out = read_with_notes({path});
    CHECK((out.text == text + "more"));
    CHECK(out.notes == std::vector<std::string>{"1 file has bytes 0 behind its compressed data, which are ignored: " +
                                                path.string()});
  }
  CHECK_THROWS_WITH_AS(read_with_notes({folder.write("b.gz", gzip("x") + "garbage")}),
                       doctest::Contains(": not gzip data"), Error);
  CHECK_THROWS_WITH_AS(read_with_notes({folder.write("c.gz", std::string(100, '\0'))}),
                       doctest::Contains(": not gzip data"), Error);
}

TEST_CASE("text notes: a zstd file with a window that is too large is called that") {
  const TempFolder folder;
  ZSTD_CCtx* context = ::ZSTD_createCCtx();
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 30);
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  std::string compressed(1000, '\0'), text = "text";
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer out{compressed.data(), compressed.size(), 0};
  ::ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
  ::ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
  compressed.resize(out.pos);
  ::ZSTD_freeCCtx(context);
  const fs::path path = folder.write("a.zst", compressed);
  const std::string expected = path.string() +
                               ": its window is too large: expected at most 128 MiB; compress it without zstd's --long "
                               "or --ultra";
  CHECK_THROWS_WITH_AS(read_with_notes({path}), expected.c_str(), Error);
}

TEST_CASE("text notes: a file that does not look like text is named") {
  const TempFolder folder;
  const auto is_noted = [&](const std::string& bytes) {
    const fs::path path = folder.write("a.bin", bytes);
    const ReadText out = read_with_notes({path});
    CHECK((out.text == bytes));
    if (out.notes.empty()) return false;
    CHECK(out.notes[0] == "1 file does not look like text (bytes 0, or many that are not UTF-8): " + path.string());
    return true;
  };
  CHECK(is_noted(std::string("text\0text", 9)));
  CHECK(is_noted("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 and some text"));
  CHECK_FALSE(is_noted("a caf\xE9 in Latin-1, which has few letters beyond ASCII"));
  CHECK_FALSE(is_noted("\u65E5\u672C\u8A9E"));
}

TEST_CASE("text notes: JSON lines that are read as plain text are named") {
  const TempFolder folder;
  const auto notes_of = [&](const char* name, const std::string& text, const std::string& field = "text") {
    const ReadText out = read_with_notes({folder.write(name, text)}, {.document = DocumentEnd::none, .field = field});
    return out.notes.empty() ? "" : out.notes[0];
  };
  const std::string lines = "{\"id\": 1, \"text\": \"one\"}\n{\"text\": \"two\"}\n";
  CHECK(notes_of("a.json", lines) ==
        "1 file begins like JSON lines, and is read as plain text, since its name does not end in .jsonl: " +
            (folder.path / "a.json").string());
  CHECK(notes_of("a.jsonl", lines) == "");
  CHECK(notes_of("a.json", lines, "body") == "");
  CHECK(notes_of("b.json", "{\n  \"text\": \"one\"\n}\n") == "");
  CHECK(notes_of("c.txt", "one\n" + lines) == "");
}

TEST_CASE("text notes: a file with marks of documents that are read as plain text is named") {
  const TempFolder folder;
  const std::string text = "one\n<|endoftext|>\ntwo<|endoftext|>\n";
  const fs::path marked = folder.write("marked.txt", text), other = folder.write("other.txt", "one <|endoftext");
  const std::vector<std::string> told{
      "1 file has <|endoftext|> written in it, read as plain text (documents end there if data.document is mark): " +
      marked.string()};
  for (const DocumentEnd document : {DocumentEnd::none, DocumentEnd::file, DocumentEnd::line}) {
    CHECK(read_with_notes({marked, other}, {.document = document, .field = "text"}).notes == told);
  }
  CHECK(read_with_notes({marked, other}).text == text + "one <|endoftext");
  CHECK(read_with_notes({marked, other}, {.document = DocumentEnd::mark, .field = "text"}).notes.empty());
}

TEST_CASE("encode inputs: files, folders, compressed files and documents give the ids and bytes of training") {
  const TempFolder folder;
  folder.write("texts/a.txt.gz", gzip(kByteOrderMark + "one two\nthree\n"));
  folder.write("texts/b.jsonl.zst", zstd("{\"body\": \"four\\nfive\"}\n{\"body\": \"six\"}\n"));
  folder.write("texts/empty.txt", "");
  const std::string_view text = "one two three four five six\n";
  const auto tokenizer =
      train_tokenizer({.kind = "bpe", .vocab = 270, .special_tokens = {"<|endoftext|>"}}, std::span(&text, 1));
  std::vector<std::int32_t> expected;
  for (const char* document : {"one two", "three", "four\nfive", "six"}) {
    for (const std::int32_t id : tokenizer->encode(document)) expected.push_back(id);
    expected.push_back(*tokenizer->special("<|endoftext|>"));
  }
  const TextOptions options{.document = DocumentEnd::line, .field = "body"};
  double share = 0;
  for (const std::string& input : {(folder.path / "texts").string(), (folder.path / "texts/*").string()}) {
    const EncodedText encoded =
        encode_inputs(std::span(&input, 1), options, *tokenizer, [&](double done) { share = done; });
    CHECK(encoded.ids == expected);
    CHECK(encoded.bytes == 7 + 5 + 9 + 3);
    CHECK(encoded.unknown == 0);
    CHECK(encoded.notes.lines().size() == 2);
  }
  CHECK(share == 1);
  const std::string missing = (folder.path / "none").string();
  CHECK_THROWS_AS(encode_inputs(std::span(&missing, 1), options, *tokenizer), Error);
}

TEST_CASE("encode inputs: unknown tokens are counted, and bits per byte withheld above one in a hundred") {
  const TempFolder folder;
  const std::string_view text = "a a a a b\n";
  const auto word = train_tokenizer({.kind = "word", .vocab = 3, .special_tokens = {}}, std::span(&text, 1));
  REQUIRE(word->unknown_id() == word->special("<unk>"));
  const auto encode = [&](const std::string& content, const Tokenizer& tokenizer) {
    const std::string path = folder.write("text.txt", content).string();
    return encode_inputs(std::span(&path, 1), {}, tokenizer);
  };
  std::string many;
  for (int i = 0; i < 99; ++i) many += " a";
  const EncodedText one_percent = encode(many + " x", *word);
  REQUIRE(one_percent.ids.size() == 100);
  CHECK(one_percent.unknown == 1);
  CHECK(one_percent.unknown_share() == 0.01);
  CHECK(one_percent.unknown_share() <= kMaxUnknownShare);
  const EncodedText several = encode(many + " x y z", *word);
  CHECK(several.unknown == 3);
  CHECK(several.unknown_share() > kMaxUnknownShare);
  CHECK(count_unknown(TokenView(several.ids), *word) == 3);
  const auto bpe = train_tokenizer({.kind = "bpe", .vocab = 260, .special_tokens = {"<unk>"}}, std::span(&text, 1));
  CHECK_FALSE(bpe->unknown_id().has_value());
  CHECK(encode("xyz", *bpe).unknown_share() == 0);
  CHECK_FALSE(train_tokenizer({.kind = "char", .special_tokens = {}}, std::span(&text, 1))->unknown_id().has_value());
}
