#include <doctest/doctest.h>
#include <sys/resource.h>

#include "core/error.h"
#include "data/text/text_files.h"
#include "tests/data/texts.h"
#include "tests/temp_folder.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> expand(const std::vector<std::string>& inputs) { return expand_inputs(inputs); }

}  // namespace

TEST_CASE("text file: its text, decompressed and without a byte order mark; errors for missing, folder and empty") {
  const TempFolder folder;
  const std::string text = "abc\n" + std::string(3 << 20, 'x');
  CHECK((read_text_file(folder.write("a.txt", text)) == text));
  CHECK((read_text_file(folder.write("a.txt.gz", gzip(text))) == text));
  CHECK((read_text_file(folder.write("a.txt.zst", zstd(text))) == text));
  TextNotes notes;
  const fs::path marked = folder.write("mark.gz", gzip("\xEF\xBB\xBF"
                                                       "abc"));
  CHECK(read_text_file(marked, notes) == "abc");
  CHECK(notes.lines() ==
        std::vector<std::string>{"1 file begins with a byte order mark, which is removed: " + marked.string()});
  const std::string empty = folder.write("empty.txt", "").string(),
                    only = folder.write("only", "\xEF\xBB\xBF").string();
  CHECK_THROWS_WITH_AS(read_text_file(empty), (empty + " is empty, expected text").c_str(), Error);
  CHECK_THROWS_WITH_AS(read_text_file(only), (only + " is empty, expected text").c_str(), Error);
  using namespace std::string_literals;
  for (const std::string& wide : {"\xFF\xFE"
                                  "a\0\n\0"s,
                                  "\xFE\xFF\0a\0\n"s}) {
    const std::string path = folder.write("wide.txt", wide).string();
    CHECK_THROWS_WITH_AS(read_text_file(path),
                         (path + " is in UTF-16, expected UTF-8 (iconv -f UTF-16 -t UTF-8 converts it)").c_str(),
                         Error);
  }
  CHECK_THROWS_WITH_AS(read_text_file(folder.path), (folder.path.string() + " is a folder, expected a file").c_str(),
                       Error);
  const std::string missing = (folder.path / "none").string();
  CHECK_THROWS_WITH_AS(read_text_file(missing), ("cannot open " + missing + ": No such file or directory").c_str(),
                       Error);
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
  CHECK(expand({"-", odd.string(), "-"}) == Paths{"-", odd});
  CHECK(expand({b.string(), root + "/?.txt", root + "/./b.txt"}) == Paths{b, upper, a});
  // Links to folders are followed, and each folder is read once.
  const TempFolder links;
  fs::create_directory_symlink(folder.path / "sub", links.path / "linked");
  fs::create_directory_symlink(links.path, links.path / "loop");
  CHECK(expand({links.path.string()}) == Paths{links.path / "linked/c.txt", links.path / "linked/deep/d.md"});
  // A file that a link leads to is no other file, but one above the target of a link is.
  const TempFolder other;
  other.write("a.txt", "another a");
  other.write("deep/e.txt", "e");
  const fs::path again = links.path / "again.txt", above = links.path / "up/../a.txt";
  fs::create_symlink(a, again);
  fs::create_directory_symlink(other.path / "deep", links.path / "up");
  CHECK(expand({a.string(), again.string()}) == Paths{a});
  CHECK(expand({again.string(), a.string(), above.string()}) == Paths{again, above});
  const auto beside = links.write("a.txt", "a beside the links");
  CHECK(expand({beside.string(), above.string()}) == Paths{beside, above});
}

TEST_CASE("expand inputs: errors for what names no file") {
  const TempFolder folder;
  const std::string root = folder.path.string();
  CHECK_THROWS_WITH_AS(expand({root + "/none"}), ("no such file or folder: " + root + "/none").c_str(), Error);
  CHECK_THROWS_WITH_AS(expand({root + "/*.txt"}), ("no files match " + root + "/*.txt").c_str(), Error);
  CHECK_THROWS_WITH_AS(expand({root}), ("no files in folder " + root).c_str(), Error);
  fs::create_symlink("loop", folder.path / "loop");
  CHECK_THROWS_WITH_AS(expand({root + "/loop"}),
                       ("cannot look at " + root + "/loop: Too many levels of symbolic links").c_str(), Error);
}

TEST_CASE("expand inputs: a folder that cannot be listed is an error, also for a pattern") {
  const TempFolder folder;
  folder.write("a.txt", "a");
  const std::string root = folder.path.string(), reason = "cannot list " + root + ": Too many open files";
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  const auto error_of = [&](const std::string& input) {
    ::setrlimit(RLIMIT_NOFILE, &none);
    std::string message;
    try {
      expand({input});
    } catch (const Error& error) {
      message = error.what();
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    return message;
  };
  CHECK(error_of(root) == reason);
  CHECK(error_of(root + "/*.txt") == root + "/*.txt: " + reason);
}
