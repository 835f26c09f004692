#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "core/error.h"
#include "data/synthetic/corpora.h"
#include "data/text/byte_reader.h"
#include "tests/data/texts.h"
#include "tests/temp_folder.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

std::string read(const std::vector<fs::path>& paths, TextOptions options = {}) {
  return with_bounds(FileText(paths, std::move(options)));
}

std::string read(const std::vector<fs::path>& paths, DocumentEnd document) { return read(paths, {document, "text"}); }

void check_refused(const fs::path& path, const std::string& message, const std::string& field = "text") {
  CHECK_THROWS_WITH_AS(read({path}, {DocumentEnd::none, field}), message.c_str(), Error);
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 400000; ++i) text += str_cat(i, i % 7 ? " " : "\n");
  return text;
}

}  // namespace

TEST_CASE("text source: plain files are pieces, or documents by their files, lines or marks") {
  const TempFolder folder;
  const std::vector<fs::path> paths = {folder.write("a.txt", "one\n\ntwo\n"), folder.write("b.txt", "three")};
  CHECK(read(paths) == "one\n\ntwo\n|three|");
  CHECK(read(paths, DocumentEnd::file) == "one\n\ntwo\n#three#");
  CHECK(read(paths, DocumentEnd::line) == "one#two#three#");
  CHECK(read(paths, DocumentEnd::mark) == "one\n\ntwo\n#three#");
  const fs::path marked =
      folder.write("c.txt", "<|endoftext|>a<|endoftext|><|endoftext|>\nb<|endoftext<|endoftext|>c <|endoftext");
  CHECK(read({marked}, DocumentEnd::mark) == "a#\nb<|endoftext#c <|endoftext#");
}

TEST_CASE("text source: messages call it by its first file, or by its corpus") {
  CHECK(FileText({"a.txt"}, {}).name() == "a.txt");
  CHECK(FileText({"a.txt", "b.txt"}, {}).name() == "a.txt and 1 other file");
  CHECK(FileText({"/tmp/pipe", "b", "c"}, {}, {"-", "b", "c"}).name() == "standard input and 2 other files");
  CHECK(CorpusText("stories", 10, 1).name() == "the corpus stories");
}

TEST_CASE("text source: marks and lines are found across the bounds of what is read at once") {
  const TempFolder folder;
  for (const std::size_t before :
       {(1 << 20) - 14, (1 << 20) - 13, (1 << 20) - 12, (1 << 20) - 5, (1 << 20) - 1, 1 << 20, (1 << 20) + 1}) {
    const std::string first(before, 'x'), second(before / 2, 'y');
    const fs::path marked = folder.write("marked.txt", first + "<|endoftext|>" + second);
    CHECK((read({marked}, DocumentEnd::mark) == first + "#" + second + "#"));
    const fs::path lines = folder.write("lines.txt", first + "\n" + second);
    CHECK((read({lines}, DocumentEnd::line) == first + "#" + second + "#"));
    folder.write("lines.txt", first + "\r\n" + second);
    CHECK((read({lines}, DocumentEnd::line) == first + "#" + second + "#"));
  }
}

TEST_CASE("text source: lines that end with a carriage return do not have it, and empty ones are no documents") {
  const TempFolder folder;
  const fs::path path = folder.write("a.txt", "one\r\n\r\ntwo\r\n");
  CHECK(read({path}, DocumentEnd::line) == "one#two#");
  CHECK(read({path}) == "one\r\n\r\ntwo\r\n|");
}

TEST_CASE("text source: compressed files give the text that was compressed, and the same summary") {
  const TempFolder folder;
  const std::string text = long_text();
  const fs::path plain = folder.write("a.txt", text);
  const TextSummary expected = summarize(FileText({plain}, {}));
  CHECK(expected.bytes == static_cast<std::int64_t>(text.size()));
  const std::string half = text.substr(0, text.size() / 2), rest = text.substr(half.size());
  for (const fs::path& path :
       {folder.write("a.txt.gz", gzip(text)), folder.write("a.txt.zst", zstd(text)),
        folder.write("b.gz", gzip(half) + gzip(rest)), folder.write("b.zst", zstd(half) + zstd(rest)),
        folder.write("c.gz", gzip(text) + gzip(""))}) {
    CAPTURE(path);
    CHECK((read({path}) == text + "|"));
    CHECK(summarize(FileText({path}, {})).hash == expected.hash);
  }
}

TEST_CASE("text source: how much is read is told by the bytes of the files") {
  const TempFolder folder;
  const FileText text(
      {folder.write("a.txt", std::string(3 << 20, 'x')), folder.write("b.txt", std::string(1 << 20, 'y'))}, {});
  const auto reader = text.read();
  CHECK(reader->share() == 0);
  SourceFragment fragment;
  std::vector<double> shares;
  while (reader->next(fragment)) shares.push_back(reader->share());
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.front() == 0.25);
  CHECK(reader->share() == 1);
  // A compressed file may be in memory completely before it is decompressed.
  const FileText compressed({folder.write("a.gz", gzip(std::string(3 << 20, 'x')))}, {});
  const auto decompressed = compressed.read();
  decompressed->next(fragment);
  CHECK(decompressed->share() > 0.1);
  CHECK(decompressed->share() < 0.9);
}

TEST_CASE("text source: compressed files that are cut short, damaged or something else are refused") {
  const TempFolder folder;
  const std::string text = long_text();
  for (const auto& file : {std::pair<std::string, std::string>{"a.gz", gzip(text)}, {"a.zst", zstd(text)}}) {
    const std::string &name = file.first, &bytes = file.second;
    CAPTURE(name);
    for (const std::size_t size : {std::size_t{5}, bytes.size() / 2, bytes.size() - 1}) {
      const fs::path path = folder.write(name, std::string_view(bytes).substr(0, size));
      check_refused(path, path.string() + ": truncated: its compressed data ends too soon");
    }
    std::string damaged = bytes;
    damaged[bytes.size() / 2] ^= 0x55;
    const fs::path path = folder.write(name, damaged);
    CHECK_THROWS_WITH_AS(read({path}), doctest::Contains(", or damaged ("), Error);
    folder.write(name, "no compressed data at all");
    CHECK_THROWS_WITH_AS(read({path}), doctest::Contains(": not "), Error);
    folder.write(name, "");
    check_refused(path, path.string() + " is empty, expected text");
  }
}

TEST_CASE("text source: a line of JSON is a document, whatever is said of plain text") {
  const TempFolder folder;
  const std::string lines =
      "{\"text\": \"one \\u20ac\\n\", \"id\": 7}\n\n  \r\n{\"id\": 8, \"text\": \"\"}\n{\"text\": \"two\"}";
  const std::string expected = "one €\n#two#";
  const fs::path plain = folder.write("a.jsonl", lines);
  CHECK(read({plain}) == expected);
  CHECK(read({plain}, DocumentEnd::line) == expected);
  CHECK(read({folder.write("a.jsonl.gz", gzip(lines))}) == expected);
  CHECK(read({folder.write("a.ndjson", lines)}) == expected);
  CHECK(read({folder.write("A.JSONL", lines)}) == expected);
  CHECK(read({folder.write("A.Jsonl.GZ", gzip(lines))}) == expected);
  CHECK(read({folder.write("a.jsonl.zst", zstd(lines))}) == expected);
  CHECK(read({folder.write("b.txt", "plain\n"), plain}) == "plain\n|" + expected);
  CHECK(read({folder.write("c.jsonl", "{\"body\": \"x\"}\n")}, {DocumentEnd::none, "body"}) == "x#");
  const std::string longer(3 << 20, 'z');
  CHECK((read({folder.write("d.jsonl", "{\"text\": \"" + longer + "\"}\n")}) == longer + "#"));
  CHECK(FileText({plain}, {}).has_documents());
  CHECK(FileText({folder.path / "a.jsonl.zst"}, {}).has_documents());
  CHECK_FALSE(FileText({folder.path / "b.txt"}, {}).has_documents());
  CHECK(FileText({folder.path / "b.txt"}, {DocumentEnd::mark, "text"}).has_documents());
}

TEST_CASE("text source: a wrong line of JSON is named by file and line") {
  const TempFolder folder;
  const std::string good = "{\"text\": \"one\"}\n\n";
  const auto refused = [&](const std::string& line, const std::string& message) {
    const fs::path path = folder.write("a.jsonl", good + line);
    check_refused(path, str_cat(path.string(), ":3: ", message));
  };
  refused("{\"id\": 7, \"body\": 1}", "expected an object with the field \"text\", got fields body, id");
  refused("[\"text\"]\n", "expected an object with the field \"text\", got array");
  refused("3\n", "expected an object with the field \"text\", got number");
  refused("{\"text\": 5}\n", "expected a string in the field \"text\", got number");
  refused("{\"text\": null}\n", "expected a string in the field \"text\", got null");
  refused("{\"text\": \"cut sho", "not valid JSON at byte 18");
  refused("{\"text\": \"\xff\"}\n", "not valid JSON at byte 11");
  refused("{\"text\": \"" + std::string(100000, 'x'), "not valid JSON at byte 100011");
  refused("{\"text\": " + std::string(100000, '9') + "}\n", "not valid JSON: a number is out of range");
  refused("{\"text\": \"x\"}" + std::string(1, '\0') + "{\"text\": \"y\"}\n",
          "expected a line of JSON, got a byte 0 in it");
  const fs::path path = folder.write("a.jsonl", "\n{\"text\": \"\"}\n");
  check_refused(path, path.string() + " is empty, expected text");
}

TEST_CASE("text source: files that are missing, empty or no files") {
  const TempFolder folder;
  const fs::path empty = folder.write("empty.txt", ""), full = folder.write("full.txt", "x");
  CHECK(read({full, empty}) == "x|");
  CHECK_THROWS_WITH_AS(read({empty}), (empty.string() + " is empty, expected text").c_str(), Error);
  CHECK_THROWS_WITH_AS(read({empty, empty}),
                       ("none of 2 files has text, expected some; the first is " + empty.string()).c_str(), Error);
  check_refused(folder.path, folder.path.string() + " is a folder, expected a file");
  check_refused(folder.path / "none", "cannot open " + (folder.path / "none").string() + ": No such file or directory");
  check_refused("/dev/null", "/dev/null is not a regular file");
  // Reading fails, since no memory is mapped at address 0.
  check_refused("/proc/self/mem", "cannot read /proc/self/mem: Input/output error");
  CHECK_THROWS_WITH_AS(FileText({}, {}), "text: no files given", Error);
}

TEST_CASE("text source: a pipe is read to its end, in as many parts as it comes") {
  const TempFolder folder;
  const fs::path pipe = folder.path / "pipe", full = folder.write("full.txt", "x");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK((is_read_once(pipe) && is_read_once(kStandardInput)));
  CHECK_FALSE((is_read_once(full) || is_read_once(folder.path) || is_read_once(folder.path / "none")));
  const auto write = [&](const std::vector<std::string>& parts) {
    return std::thread([=] {
      std::ofstream out(pipe);
      for (const std::string& part : parts) out << part << std::flush;
    });
  };
  const std::string text = long_text();
  auto writer = write({"\xEF\xBB\xBFone\n", "two\n", text});
  CHECK((read({pipe, full}) == "one\ntwo\n" + text + "|x|"));
  writer.join();
  writer = write({});
  CHECK_THROWS_WITH_AS(read({pipe}), (pipe.string() + " is empty, expected text").c_str(), Error);
  writer.join();
}

TEST_CASE("text source: the stamp of files tells changes, order and options, and is settled after a while") {
  const TempFolder folder;
  const fs::path a = folder.write("a.txt", "a"), b = folder.write("b.txt", "b");
  const auto stamp = [](const std::vector<fs::path>& paths, TextOptions options = {}) {
    return FileText(paths, std::move(options)).stamp();
  };
  const TextStamp before = stamp({a, b});
  CHECK_FALSE(before.settled);
  CHECK(stamp({a, b}).value == before.value);
  CHECK(stamp({b, a}).value != before.value);
  CHECK(stamp({a}).value != before.value);
  CHECK(stamp({a, b}, {DocumentEnd::file, "text"}).value != before.value);
  CHECK(stamp({a, b}, {DocumentEnd::none, "body"}).value != before.value);
  // Another end of the name means that the file is read in another way.
  std::set<std::uint64_t> stamps;
  for (const char* name : {"x.txt", "x.gz", "x.zst", "x.jsonl", "x.jsonl.gz", "x.jsonl.zst"}) {
    fs::create_symlink(a, folder.path / name);
    stamps.insert(stamp({folder.path / name}).value);
  }
  CHECK(stamps.size() == 6);
  // The size and the time of change are the same again, but the time of the file's status is not.
  const auto written = fs::last_write_time(a);
  usleep(20000);
  folder.write("a.txt", "c");
  fs::last_write_time(a, written);
  CHECK(stamp({a, b}).value != before.value);
  CHECK_THROWS_WITH_AS(stamp({folder.path / "none"}),
                       ("cannot open " + (folder.path / "none").string() + ": No such file or directory").c_str(),
                       Error);

  CHECK(stamp({PROJECT_ROOT "/CMakePresets.json"}).settled);
  fs::last_write_time(b, fs::last_write_time(PROJECT_ROOT "/CMakePresets.json"));  // an old time
  CHECK_FALSE(stamp({b}).settled);
}

TEST_CASE("text source: a generated corpus is the text that generate_corpus() makes") {
  const CorpusText text("stories", 20, 3);
  CHECK(with_bounds(text) == generate_corpus("stories", 20, 3) + "|");
  const std::string documents = with_bounds(CorpusText("stories", 20, 3, DocumentEnd::line));
  CHECK(std::count(documents.begin(), documents.end(), '#') == 20);
  CHECK(documents.find('\n') == documents.npos);
  CHECK(text.stamp().settled);
  CHECK(text.stamp().value == CorpusText("stories", 20, 3).stamp().value);
  CHECK(text.stamp().value != CorpusText("stories", 21, 3).stamp().value);
  CHECK(CorpusText("stories", 1000, 3).stamp().value != CorpusText("stories", 1001, 3).stamp().value);
  CHECK(text.stamp().value != CorpusText("stories", 20, 4).stamp().value);
  CHECK(text.stamp().value != CorpusText("stories", 20, 3, DocumentEnd::line).stamp().value);
  CHECK_THROWS_AS(CorpusText("storeys", 20, 3), UsageError);
  CHECK_THROWS_AS(CorpusText("stories", 0, 3), UsageError);
}
