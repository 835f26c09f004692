#include <doctest/doctest.h>

#include <cstdlib>

#include "core/error.h"
#include "core/text/utf8.h"
#include "data/text/encode_text.h"
#include "tests/data/texts.h"
#include "tokenizer/pieces/sentencepiece_tokenizer.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kAll = TextReader::kToTheEnd;

// What the reader gives until it stops: '/' between chunks, '|' at the ends of pieces, '#' at the ends of documents.
std::string parts_of(TextReader& reader) {
  std::string out;
  for (TextChunk chunk; reader.next(chunk);) {
    if (!out.empty()) out += '/';
    std::size_t at = 0;
    for (const TextChunk::End& end : chunk.ends) {
      out += chunk.text.substr(at, end.at - at) + (end.document ? '#' : '|');
      at = end.at;
    }
    out += chunk.text.substr(at);
  }
  return out;
}

std::string parts_of(const TextSource& source, std::size_t chunk_bytes) {
  TextReader reader(source, chunk_bytes);
  return parts_of(reader);
}

std::string read(const TextSource& source, std::int64_t begin, std::int64_t end, std::size_t chunk_bytes = 1 << 20) {
  TextReader reader(source, chunk_bytes);
  reader.skip_to(begin);
  reader.stop_at(end);
  return parts_of(reader);
}

}  // namespace

TEST_CASE("safe cut: the last place before a newline, else before a space, that follows a letter or a number") {
  CHECK(last_safe_cut("ab\ncd\nef") == 5);
  CHECK(last_safe_cut("ab\ncd ef") == 2);
  CHECK(last_safe_cut("ab cd ef") == 5);
  CHECK(last_safe_cut("ab\n\n \n\tx") == 2);
  CHECK(last_safe_cut("a b\u00A0\n c") == 1);  // white space beyond ASCII
  CHECK(last_safe_cut("a\u00A0\nb") == 0);
  CHECK(last_safe_cut("\nab") == 0);
  CHECK(last_safe_cut("ab\n") == 2);
  CHECK(last_safe_cut("ab\n.\n") == 2);  // cl100k puts a newline to the symbols before it
  CHECK(last_safe_cut("abc") == 0);
  CHECK(last_safe_cut("") == 0);
  CHECK(last_safe_cut("да нет") == 4);
  CHECK(last_safe_cut("第一章\n字") == 9);
  CHECK(last_safe_cut("字。\n字") == 0);
  CHECK(last_safe_cut("e\u0301 \xE4 \xB8\x96 b") == 0);  // a mark, and bytes that are not UTF-8
}

TEST_CASE("safe cut: a text of letters beyond ASCII has the same ids in chunks as in one") {
  std::string text;
  for (int line = 0; line < 200; ++line) text += str_cat("да, но здесь ", line % 7 == 0 ? "ничего" : "нет", " слов\n");
  const std::string_view view = text;
  for (const char* kind : {"word", "bpe"}) {
    CAPTURE(kind);
    const auto tokenizer = train_tokenizer({.kind = kind, .vocab = 400, .special_tokens = {}}, std::span(&view, 1));
    for (const std::size_t chunk_bytes : {60, 301, 3000}) {
      std::vector<std::int32_t> ids;
      const MemoryText source(text);
      TextReader reader(source, chunk_bytes);
      for_each_encoded(reader, *tokenizer,
                       [&](std::span<const std::int32_t> some) { ids.insert(ids.end(), some.begin(), some.end()); });
      CHECK(ids == tokenizer->encode(text));
    }
  }
}

TEST_CASE("safe cut: a text in chunks has one space before it by a sentencepiece tokenizer, as each of its pieces") {
  Vocabulary vocabulary{.tokens = {"<unk>"}, .special_ids = {0}};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    vocabulary.tokens.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
  }
  for (const char* token : {"\u2581", "a", "b", "\u2581a", "ab"}) vocabulary.tokens.emplace_back(token);
  const SentencePieceTokenizer tokenizer(vocabulary, {{"\u2581", "a"}, {"a", "b"}}, {});
  const std::string text = varied_text(4000) + " ab ba ab";
  for (const std::size_t chunk_bytes : {60, 300, 3000}) {
    std::vector<std::int32_t> ids;
    const MemoryText source(text);
    TextReader reader(source, chunk_bytes);
    for_each_encoded(reader, tokenizer,
                     [&](std::span<const std::int32_t> some) { ids.insert(ids.end(), some.begin(), some.end()); });
    CHECK(ids == tokenizer.encode(text));
  }
}

TEST_CASE("safe cut: text encoded in chunks has the ids of the whole, for every kind of tokenizer") {
  const std::string text = varied_text(4000);
  const std::string_view view = text;
  for (const char* kind : {"char", "word", "bpe"}) {
    CAPTURE(kind);
    const auto tokenizer = train_tokenizer({.kind = kind, .vocab = 400, .special_tokens = {}}, std::span(&view, 1));
    const std::vector<std::int32_t> whole = tokenizer->encode(text);
    const MemoryText source(text);
    for (const std::size_t chunk_bytes : {60, 300, 3000}) {
      std::vector<std::int32_t> chunks;
      int count = 0;
      TextReader reader(source, chunk_bytes);
      for (TextChunk chunk; reader.next(chunk); ++count) {
        CHECK(chunk.text.size() <= chunk_bytes);
        const auto ids = tokenizer->encode(chunk.text);
        chunks.insert(chunks.end(), ids.begin(), ids.end());
      }
      CHECK(count > 5);
      CHECK(chunks == whole);
    }
  }
}

TEST_CASE("text reader: chunks end at the ends of pieces, or at safe cuts, or between characters") {
  CHECK(parts_of(MemoryText(std::vector<std::string>{"ab\n", "cd\n"}), 100) == "ab\n|cd\n|");
  CHECK(parts_of(MemoryText(std::vector<std::string>{"ab\n", "cd\n"}), 3) == "ab\n|/cd\n|");
  CHECK(parts_of(MemoryText(std::vector<std::string>{"ab\n", "cd\n"}), 5) == "ab\n|/cd\n|");
  CHECK(parts_of(MemoryText("ab\ncd\nef gh"), 7) == "ab\ncd/\nef gh|");
  CHECK(parts_of(MemoryText(std::vector<std::string>{"ab\n", "cd ef gh ij"}), 10) == "ab\n|cd ef/ gh ij|");
  CHECK(parts_of(MemoryText(MemoryText::Fragments{{"ab cd", Bound::none}}), 5) == "ab cd");
  CHECK(parts_of(MemoryText("abcdefgh"), 3) == "abc/def/gh|");
  CHECK(parts_of(MemoryText("aé€😀b"), 4) == "aé/€/😀/b|");
  CHECK(parts_of(MemoryText({{"a", Bound::none}, {"b", Bound::document}, {"", Bound::document}, {"c", Bound::none}}),
                 10) == "ab##c");
}

TEST_CASE("text reader: segments are the pieces of a chunk, and say where documents end") {
  const MemoryText text({{"ab", Bound::piece}, {"c", Bound::document}, {"de", Bound::none}});
  TextReader reader(text);
  TextChunk chunk;
  REQUIRE(reader.next(chunk));
  const std::vector<TextSegment> segments = chunk.segments();
  REQUIRE(segments.size() == 3);
  CHECK(segments[0].text == "ab");
  CHECK(segments[1].text == "c");
  CHECK(segments[2].text == "de");
  CHECK_FALSE(segments[0].ends_document);
  CHECK(segments[1].ends_document);
  CHECK_FALSE(segments[2].ends_document);
  CHECK_FALSE(reader.next(chunk));
  CHECK(reader.position() == 5);
  const MemoryText piece("ab");
  TextReader another(piece);
  REQUIRE(another.next(chunk));
  CHECK(chunk.segments().size() == 1);
}

TEST_CASE("text reader: memory is bounded by the size of a chunk, for any text") {
  struct Endless : FragmentReader {
    bool next(SourceFragment& fragment) override {
      fragment = {text, Bound::none};
      return ++count <= 2000;
    }
    double share() const override { return 0; }
    const std::string text = std::string(1000, 'x');
    int count = 0;
  };
  struct EndlessText : TextSource {
    std::unique_ptr<FragmentReader> read() const override { return std::make_unique<Endless>(); }
    TextStamp stamp() const override { return {}; }
    std::string name() const override { return "endless"; }
    bool has_documents() const override { return false; }
  };
  const EndlessText text;
  TextReader reader(text, 10000);
  std::int64_t bytes = 0;
  for (TextChunk chunk; reader.next(chunk); bytes += static_cast<std::int64_t>(chunk.text.size())) {
    CHECK(chunk.text.size() <= 10000);
    CHECK(chunk.text.capacity() <= 24000);
  }
  CHECK(bytes == 2000000);
}

TEST_CASE("text reader: stops where it is told, moved back to where a character begins") {
  const std::string text = "aé€😀b";  // 1 + 2 + 3 + 4 + 1 bytes
  const MemoryText source(text);
  const int starts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (int cut = 0; cut <= 11; ++cut) {
    CAPTURE(cut);
    for (const std::size_t chunk_bytes : {4, 5, 100}) {
      TextReader reader(source, chunk_bytes);
      std::string before, after;
      reader.stop_at(cut);
      TextChunk chunk;
      while (reader.next(chunk)) before += chunk.text;
      CHECK(reader.position() == starts[cut]);
      CHECK_FALSE(reader.next(chunk));
      reader.stop_at(kAll);
      while (reader.next(chunk)) after += chunk.text;
      CHECK(before == text.substr(0, starts[cut]));
      CHECK(after == text.substr(starts[cut]));
    }
  }
  // A text that is not UTF-8 is cut at any byte.
  CHECK(read(MemoryText(std::string(10, '\x80')), 5, kAll) == std::string(5, '\x80') + "|");
  CHECK(character_start("\x80\x80\x80", 1) == 1);
  CHECK(character_start("\xF0\x9F\x99\x82", 3) == 0);
  CHECK(character_start("a\x80\x80\x80\x80", 4) == 4);
  // A character cannot reach from one piece into the next.
  CHECK(read(MemoryText(std::vector<std::string>{"ab\xC3", "\xA9"}), 0, 3) == "ab\xC3|");
}

TEST_CASE("text reader: the end of a piece goes with the text before it") {
  const MemoryText source(
      {{"01234", Bound::document}, {"567", Bound::none}, {"", Bound::document}, {"89", Bound::piece}});
  CHECK(read(source, 0, 5) == "01234#");
  CHECK(read(source, 5, kAll) == "567#89|");
  CHECK(read(source, 0, 6) == "01234#5");
  CHECK(read(source, 6, kAll) == "67#89|");
  CHECK(read(source, 0, 8) == "01234#567#");
  CHECK(read(source, 8, 9) == "8");
  CHECK(read(source, 0, 0) == "");
  CHECK(read(source, 0, 100) == "01234#567#89|");
  CHECK(read(source, 6, kAll, 2) == "67#/89|");
}

TEST_CASE("text reader: a source is opened when it is first read") {
  const MemoryText source("text");
  TextReader reader(source);
  CHECK(source.times_read == 0);
  TextChunk chunk;
  reader.next(chunk);
  CHECK(source.times_read == 1);
}

TEST_CASE("text summary: the split takes the last chunk, floor(n (1 - fraction)) bytes before it") {
  const TextSummary summary = summarize(MemoryText("0123456789"));
  CHECK(summary.bytes == 10);
  for (const auto& [fraction, train] : {std::pair{0.0, 10}, {0.1, 9}, {0.25, 7}, {0.5, 5}, {0.99, 0}}) {
    CHECK(summary.split(fraction) == train);
  }
  CHECK(TextSummary{.bytes = 1115394, .hash = 0, .stamp = {}}.split(0.1) == 1003854);
  CHECK_THROWS_WITH_AS(summary.split(1), "valid_fraction: expected at least 0 and below 1, got 1", Error);
  CHECK_THROWS_WITH_AS(summary.split(-0.1), "valid_fraction: expected at least 0 and below 1, got -0.1", Error);
}

TEST_CASE("text summary: tells bytes and ends apart, and not how the text comes in fragments") {
  const auto hash = [](MemoryText::Fragments fragments) { return summarize(MemoryText(std::move(fragments))).hash; };
  const std::uint64_t abc = hash({{"ab", Bound::none}, {"c", Bound::piece}});
  CHECK(hash({{"abc", Bound::piece}}) == abc);
  CHECK(hash({{"a", Bound::none}, {"", Bound::none}, {"bc", Bound::piece}}) == abc);
  CHECK(hash({{"abd", Bound::piece}}) != abc);
  CHECK(hash({{"abc", Bound::document}}) != abc);
  CHECK(hash({{"ab", Bound::piece}, {"c", Bound::piece}}) != abc);
  CHECK(hash({{"ab", Bound::piece}, {"c", Bound::piece}}) != hash({{"a", Bound::piece}, {"bc", Bound::piece}}));
}

TEST_CASE("text summary: a text that is changed while it is read has none") {
  struct Changing : MemoryText {
    using MemoryText::MemoryText;
    TextStamp stamp() const override { return {.value = static_cast<std::uint64_t>(times_read), .settled = true}; }
  };
  CHECK_THROWS_WITH_AS(summarize(Changing("abc")), "the text was changed while it was read", Error);
}

TEST_CASE("text reader: tinyshakespeare chunks where nanoGPT chunks it") {
  const char* data = std::getenv("TAPEFORMER_DATA");
  const fs::path path = fs::path(data ? data : PROJECT_ROOT "/../shared/data") / "tinyshakespeare/input.txt";
  if (!fs::exists(path)) return;
  const FileText text({path}, {});
  const TextSummary summary = summarize(text);
  CHECK(summary.split(0.1) == 1003854);
  CHECK(summary.bytes - summary.split(0.1) == 111540);
}
