#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "data/parallel/parallel_text.h"
#include "data/synthetic/corpora.h"
#include "tests/data/texts.h"
#include "tests/temp_folder.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines lines_of(std::span<const SentencePair> pairs) {
  Lines out;
  for (const SentencePair& pair : pairs) out.emplace_back(pair.source, pair.target);
  return out;
}

}  // namespace

TEST_CASE("parallel text: two files, line by line, with or without a newline at the end, and with those of Windows") {
  const TempFolder folder;
  const auto english = folder.write("a.en", "one\r\n\ttwo \n\nfour"),
             german = folder.write("a.de", "eins\nzwei\n\nvier\n");
  const Lines expected = {{"one", "eins"}, {"\ttwo ", "zwei"}, {"", ""}, {"four", "vier"}};
  ParallelText first = ParallelText::from_files(english, german);
  const auto before = first.pairs();
  const ParallelText moved = std::move(first);
  CHECK(lines_of(moved.pairs()) == expected);
  CHECK(lines_of(before) == expected);
  const auto blank = folder.write("blank", "\n"), carriage = folder.write("carriage", "\r");
  CHECK(lines_of(ParallelText::from_files(blank, carriage).pairs()) == Lines{{"", ""}});
}

TEST_CASE("parallel text: two files must have a translation for each line") {
  const TempFolder folder;
  const auto ten = folder.write("a.en", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"),
             nine = folder.write("b.de", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  const std::string expected =
      ten.string() + " has 10 lines, " + nine.string() + " 9: expected a translation for each line";
  CHECK_THROWS_WITH_AS(ParallelText::from_files(ten, nine), expected.c_str(), Error);
  CHECK_THROWS_AS(ParallelText::from_files(nine, ten), Error);
  const auto none = folder.path / "none", empty = folder.write("empty", "");
  CHECK_THROWS_WITH_AS(ParallelText::from_files(ten, none),
                       ("cannot open " + none.string() + ": No such file or directory").c_str(), Error);
  CHECK_THROWS_WITH_AS(ParallelText::from_files(empty, empty), (empty.string() + " is empty, expected text").c_str(),
                       Error);
}

TEST_CASE("parallel text: files that are named as JSON lines are refused") {
  const TempFolder folder;
  const auto plain = folder.write("a.en", "one\n"), json = folder.write("a.JSONL", "{\"text\": \"eins\"}\n");
  const std::string expected =
      json.string() +
      " is JSON lines by its name, expected plain text: a sentence a line, or a source, a tab and a target";
  CHECK_THROWS_WITH_AS(ParallelText::from_files(plain, json), expected.c_str(), Error);
  CHECK_THROWS_WITH_AS(ParallelText::from_files(json, plain), expected.c_str(), Error);
  CHECK_THROWS_WITH_AS(ParallelText::from_pairs(json), expected.c_str(), Error);
}

TEST_CASE("parallel text: lines of source, tab, target, from a file and from memory") {
  const TempFolder folder;
  const std::string text = "one\teins\r\n\n\tzwei\n \t\n\r\nfour\tvier";
  const Lines expected = {{"one", "eins"}, {"", ""}, {"", "zwei"}, {" ", ""}, {"", ""}, {"four", "vier"}};
  const ParallelText file = ParallelText::from_pairs(folder.write("pairs.tsv", text));
  CHECK(lines_of(file.pairs()) == expected);
  // A text so short that it lies within its std::string.
  ParallelText first = ParallelText::from_lines("a\tb");
  const auto before = first.pairs();
  const ParallelText moved = std::move(first);
  CHECK(lines_of(before) == Lines{{"a", "b"}});
  CHECK(lines_of(moved.pairs()) == Lines{{"a", "b"}});
  CHECK(lines_of(ParallelText::from_lines(text).pairs()) == expected);
}

TEST_CASE("parallel text: a line that is no pair is named") {
  const TempFolder folder;
  const auto two = folder.write("pairs.tsv", "a\tb\n\na\tb\tc\nd\n");
  CHECK_THROWS_WITH_AS(ParallelText::from_pairs(two),
                       (two.string() + ":3: expected source, tab, target; got 2 tabs").c_str(), Error);
  CHECK_THROWS_WITH_AS(ParallelText::from_lines("a\tb\nwords\n"), "text:2: expected source, tab, target; got 0 tabs",
                       Error);
  CHECK_THROWS_WITH_AS(ParallelText::from_lines("words", "corpus stories"),
                       "corpus stories:1: expected source, tab, target; got 0 tabs", Error);
  CHECK_THROWS_WITH_AS(ParallelText::from_lines(""), "text is empty, expected lines of source, tab, target", Error);
  const auto empty = folder.write("empty", "");
  CHECK_THROWS_WITH_AS(ParallelText::from_pairs(empty), (empty.string() + " is empty, expected text").c_str(), Error);
}

TEST_CASE("parallel text: generated corpora") {
  for (const char* name : {"reverse", "sort", "dates", "numbers", "add"}) {
    const ParallelText text = ParallelText::from_lines(generate_corpus(name, 100, 1));
    CHECK(text.pairs().size() == 100);
    CHECK(corpus_line(name, 99, 1) ==
          std::string(text.pairs()[99].source) + "\t" + std::string(text.pairs()[99].target) + "\n");
  }
}

TEST_CASE("parallel text: the last lines are for validation") {
  const ParallelText text = ParallelText::from_lines(generate_corpus("sort", 10, 1));
  const auto all = lines_of(text.pairs());
  for (const auto& [fraction, train] : {std::pair{0.0, 10}, {0.1, 9}, {0.25, 7}, {0.5, 5}, {0.99, 0}}) {
    const PairSplit split = text.split(fraction);
    CHECK(lines_of(split.train) == Lines(all.begin(), all.begin() + train));
    CHECK(lines_of(split.valid) == Lines(all.begin() + train, all.end()));
  }
  CHECK_THROWS_WITH_AS(text.split(1), "valid_fraction: expected at least 0 and below 1, got 1", Error);
  CHECK_THROWS_WITH_AS(text.split(-0.1), "valid_fraction: expected at least 0 and below 1, got -0.1", Error);
}

TEST_CASE("parallel text: the hash tells other sentences, orders and bounds apart, not where they come from") {
  const TempFolder folder;
  const auto hash = [](const std::string& text) { return pairs_hash(ParallelText::from_lines(text).pairs()); };
  const char* const others[] = {"a\tb\nc\td\n", "c\td\na\tb\n", "a\tb\nc\te\n",   "ab\t\nc\td\n",
                                "\tab\nc\td\n", "b\ta\nd\tc\n", "a\tb\nc\td\n\n", "a\tb\n"};
  std::set<std::uint64_t> hashes;
  for (const char* other : others) hashes.insert(hash(other));
  CHECK(hashes.size() == std::size(others));
  CHECK(hash(others[0]) == hash(others[0]));
  const auto source = folder.write("source", "a\nc"), target = folder.write("target", "b\r\nd\r\n");
  CHECK(pairs_hash(ParallelText::from_files(source, target).pairs()) == hash(others[0]));
}

TEST_CASE("parallel text: compressed files are decompressed, and byte order marks removed") {
  const TempFolder folder;
  const std::string mark = "\xEF\xBB\xBF";
  const ParallelText files = ParallelText::from_files(folder.write("a.en.gz", gzip("one\ntwo\n")),
                                                      folder.write("a.de.zst", zstd(mark + "eins\nzwei\n")));
  const Lines expected = {{"one", "eins"}, {"two", "zwei"}};
  CHECK(lines_of(files.pairs()) == expected);
  CHECK(files.notes().lines().size() == 1);
  const ParallelText pairs = ParallelText::from_pairs(folder.write("a.tsv.gz", gzip("one\teins\ntwo\tzwei\n")));
  CHECK(lines_of(pairs.pairs()) == expected);
  CHECK(pairs.notes().lines().empty());
}

TEST_CASE("parallel text: a copy of some pairs lives on without the text") {
  std::optional<ParallelText> text = ParallelText::from_lines("one\teins\n\ntwo\tzwei\n", "origin");
  const ParallelText copy = text->copy_of(text->pairs().subspan(1));
  text.reset();
  CHECK(lines_of(copy.pairs()) == Lines{{"", ""}, {"two", "zwei"}});
  CHECK(copy.origin() == "origin");
}
