#include <doctest/doctest.h>

#include <cstdlib>

#include "autograd/core/error.h"
#include "data/text.h"
#include "tests/temp_folder.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

std::string joined(const std::vector<std::string_view>& pieces) {
  std::string out;
  for (const std::string_view piece : pieces) out += piece;
  return out;
}

std::vector<fs::path> expand(const std::vector<std::string>& inputs) { return expand_inputs(inputs); }

}  // namespace

TEST_CASE("mapped text: the file's bytes; errors for missing, folder and empty") {
  const TempFolder folder;
  CHECK(MappedText(folder.write("a.txt", "abc\n")).text() == "abc\n");
  const std::string empty = folder.write("empty.txt", "").string();
  CHECK_THROWS_WITH_AS(MappedText{empty}, (empty + " is empty, expected text").c_str(), Error);
  CHECK_THROWS_WITH_AS(MappedText{folder.path}, (folder.path.string() + " is a folder, expected a file").c_str(),
                       Error);
  const std::string missing = (folder.path / "none").string();
  CHECK_THROWS_WITH_AS(MappedText{missing}, ("cannot open " + missing + ": No such file or directory").c_str(), Error);
}

TEST_CASE("expand inputs: files, folders and globs, sorted within an input, each file once") {
  const TempFolder folder;
  const auto a = folder.write("a.txt", "a"), b = folder.write("b.txt", "b"), upper = folder.write("B.txt", "B"),
             c = folder.write("sub/c.txt", "c"), d = folder.write("sub/deep/d.md", "d"),
             odd = folder.write("x[1].txt", "x");
  folder.write(".hidden", "h");
  folder.write("sub/.git/config", "g");
  fs::create_symlink(folder.path / "nowhere", folder.path / "sub/dangling");
  const std::string root = folder.path.string();
  using Paths = std::vector<fs::path>;

  CHECK(expand({b.string(), a.string()}) == Paths{b, a});
  CHECK(expand({root}) == Paths{upper, a, b, c, d, odd});
  CHECK(expand({root + "/*.txt"}) == Paths{upper, a, b, odd});
  CHECK(expand({root + "/[ab].txt"}) == Paths{a, b});
  CHECK(expand({root + "/s*"}) == Paths{c, d});
  CHECK(expand({odd.string()}) == Paths{odd});
  CHECK(expand({b.string(), root + "/?.txt", root + "/./b.txt"}) == Paths{b, upper, a});
}

TEST_CASE("expand inputs: errors for what names no file") {
  const TempFolder folder;
  const std::string root = folder.path.string();
  CHECK_THROWS_WITH_AS(expand({root + "/none"}), ("no such file or folder: " + root + "/none").c_str(), Error);
  CHECK_THROWS_WITH_AS(expand({root + "/*.txt"}), ("no files match " + root + "/*.txt").c_str(), Error);
  CHECK_THROWS_WITH_AS(expand({root}), ("no files in folder " + root).c_str(), Error);
}

TEST_CASE("text corpus: the split takes the last part, floor(n (1 - fraction)) bytes before it") {
  const TextCorpus corpus(std::string("0123456789"));
  CHECK(corpus.bytes() == 10);
  for (const auto& [fraction, train] : {std::pair{0.0, 10}, {0.1, 9}, {0.25, 7}, {0.5, 5}, {0.99, 0}}) {
    const TextSplit split = corpus.split(fraction);
    CHECK(joined(split.train) == std::string("0123456789").substr(0, train));
    CHECK(joined(split.valid) == std::string("0123456789").substr(train));
  }
  CHECK(corpus.split(0).valid.empty());
  CHECK(TextCorpus(std::string(1115394, 'x')).split(0.1).train[0].size() == 1003854);
}

TEST_CASE("text corpus: the cut never parts a UTF-8 character, and never moves far in what is not UTF-8") {
  const std::string text = "aé€😀b";  // 1 + 2 + 3 + 4 + 1 bytes
  const TextCorpus corpus(text);
  const int starts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (int cut = 0; cut < 11; ++cut) {
    const TextSplit split = corpus.split(1 - (cut + 0.5) / 11);
    CHECK(joined(split.train).size() == static_cast<std::size_t>(starts[cut]));
    CHECK(joined(split.train) + joined(split.valid) == text);
  }
  CHECK(TextCorpus(std::string(10, '\x80')).split(0.5).train[0].size() == 5);
}

TEST_CASE("text corpus: several files follow each other, and the cut falls into one or between two") {
  const TempFolder folder;
  const std::vector<fs::path> paths = {folder.write("a", "01234"), folder.write("b", "567"), folder.write("c", "89")};
  TextCorpus moved(paths);
  const TextCorpus corpus = std::move(moved);
  CHECK(corpus.bytes() == 10);
  CHECK(corpus.pieces().size() == 3);
  using Pieces = std::vector<std::string_view>;
  CHECK(corpus.split(0.4).train == Pieces{"01234", "5"});
  CHECK(corpus.split(0.4).valid == Pieces{"67", "89"});
  CHECK(corpus.split(0.5).train == Pieces{"01234"});
  CHECK(corpus.split(0.5).valid == Pieces{"567", "89"});
}

TEST_CASE("text corpus: errors") {
  CHECK_THROWS_WITH_AS(TextCorpus(std::string{}), "text is empty", Error);
  CHECK_THROWS_WITH_AS(TextCorpus(std::vector<fs::path>{}), "text: no files given", Error);
  const TextCorpus corpus(std::string("abc"));
  CHECK_THROWS_WITH_AS(corpus.split(1), "valid_fraction: expected at least 0 and below 1, got 1", Error);
  CHECK_THROWS_WITH_AS(corpus.split(-0.1), "valid_fraction: expected at least 0 and below 1, got -0.1", Error);
}

TEST_CASE("text corpus: tinyshakespeare parts where nanoGPT parts it") {
  const char* data = std::getenv("TAPEFORMER_DATA");
  const fs::path path = fs::path(data ? data : PROJECT_ROOT "/../shared/data") / "tinyshakespeare/input.txt";
  if (!fs::exists(path)) return;
  const TextSplit split = TextCorpus(std::vector<fs::path>{path}).split(0.1);
  CHECK(split.train[0].size() == 1003854);
  CHECK(split.valid[0].size() == 111540);
}
