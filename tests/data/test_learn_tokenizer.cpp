#include <doctest/doctest.h>

#include <limits>
#include <map>

#include "core/error.h"
#include "data/text/learn_tokenizer.h"
#include "tests/data/texts.h"

using namespace tapeformer;

namespace {

std::vector<std::string> sample(const TextSource& source, std::int64_t bytes, std::size_t chunk_bytes) {
  TextReader reader(source, chunk_bytes);
  std::vector<std::string> out;
  for (const TextChunk& chunk : sample_text(reader, bytes)) out.push_back(chunk.text);
  return out;
}

std::unique_ptr<Tokenizer> learn(const TokenizerOptions& options, const TextSource& first, const TextSource& second,
                                 std::int64_t sample_bytes = 0) {
  TextReader a(first, 300), b(second, 300);
  TextReader* const readers[] = {&a, &b};
  return learn_tokenizer(options, readers, sample_bytes);
}

}  // namespace

TEST_CASE("sample: all of a short text, else every 2nd, 4th, … chunk, and never more than asked for") {
  std::vector<std::string> pieces;
  for (int i = 10; i < 50; ++i) pieces.push_back(std::to_string(i));
  const MemoryText source(pieces);
  using Parts = std::vector<std::string>;
  CHECK(sample(source, 80, 2) == Parts(pieces));
  CHECK(sample(source, 79, 2).size() == 20);
  CHECK(sample(source, 20, 2) == Parts{"10", "14", "18", "22", "26", "30", "34", "38", "42", "46"});
  CHECK(sample(source, 8, 2) == Parts{"10", "26", "42"});
  CHECK(sample(source, 1, 2) == Parts{"10"});
}

TEST_CASE("sample: of any number of MiB, however large, it is all of a text") {
  const MemoryText source(std::vector<std::string>{"ab", "cd", "ef"});
  CHECK(sample_bytes_of(0) == 0);
  CHECK(sample_bytes_of(3) == 3 * 1024 * 1024);
  for (const std::int64_t mib : {std::int64_t{1} << 42, std::int64_t{1} << 43, (std::int64_t{1} << 44) + 1,
                                 std::numeric_limits<std::int64_t>::max()}) {
    CAPTURE(mib);
    CHECK(sample(source, sample_bytes_of(mib), 2) == std::vector<std::string>{"ab", "cd", "ef"});
  }
}

TEST_CASE("learn tokenizer: chunks of a text give the vocabulary of the whole") {
  const std::string text = varied_text(3000);
  const std::string_view view = text;
  const MemoryText source(text), other("other");
  for (const char* kind : {"word", "bpe"}) {
    CAPTURE(kind);
    const TokenizerOptions options{.kind = kind, .vocab = 400, .special_tokens = {"<|endoftext|>"}};
    CHECK(learn(options, source, other)->to_json() == train_tokenizer(options, std::span(&view, 1))->to_json());
    CHECK(learn(options, source, other, 2000)->vocab_size() <= 400);
  }
}

TEST_CASE("learn tokenizer: characters come from all of all texts, whatever the sample") {
  const std::string text = varied_text(3000), rare = "ζ is rare\n";
  const std::string both = text + rare;
  const std::string_view view = both;
  const TokenizerOptions options{.kind = "char", .vocab = 0, .special_tokens = {}};
  CHECK(learn(options, MemoryText(text), MemoryText(rare), 10)->to_json() ==
        train_tokenizer(options, std::span(&view, 1))->to_json());
  CHECK_THROWS_WITH_AS(learn(options, MemoryText("ab\xff"), MemoryText("c")),
                       doctest::Contains("invalid UTF-8 at byte 2"), Error);
}

TEST_CASE("learn tokenizer: progress is told of each kind's work, up to the end") {
  const MemoryText source(varied_text(3000)), other("other");
  const auto told = [&](const char* kind) {
    std::map<std::string, double> shares;
    TextReader a(source, 300), b(other, 300);
    TextReader* const readers[] = {&a, &b};
    learn_tokenizer({.kind = kind, .vocab = 300, .special_tokens = {}}, readers, 0,
                    [&](const std::string& what) { return [&share = shares[what]](double done) { share = done; }; });
    return shares;
  };
  using Shares = std::map<std::string, double>;
  CHECK(told("char") == Shares{{"finding characters", 1}});
  CHECK(told("word") == Shares{{"counting words", 1}});
  CHECK(told("bpe") == Shares{{"counting words", 1}, {"learning merges", 1}});
}

TEST_CASE("learn tokenizer: nothing is learned across the ends of documents") {
  MemoryText::Fragments fragments;
  for (int i = 0; i < 50; ++i) fragments.emplace_back("ab", Bound::document);
  const MemoryText source(fragments), other("x");
  const auto tokenizer = learn({.kind = "bpe", .vocab = 400, .special_tokens = {}}, source, other);
  CHECK(tokenizer->vocab_size() == 257);  // the bytes, and "ab"
}
