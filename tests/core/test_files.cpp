#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/text/lines.h"
#include "core/text/nearest_name.h"
#include "tests/system_calls.h"
#include "tests/temp_folder.h"

using namespace tapeformer;
namespace fs = std::filesystem;

TEST_CASE("hash: known answers, and pieces give what the whole gives") {
  CHECK(hash_bytes("") == 0x2d06800538d394c2ull);  // XXH3_64bits of nothing, from xxHash's specification
  const std::string text(100000, 'x');
  Hasher hasher;
  hasher.update(std::string_view(text).substr(0, 777));
  hasher.update(std::string_view(text).substr(777));
  CHECK(hasher.digest() == hash_bytes(text));
  CHECK(hash_bytes("a") != hash_bytes("b"));
}

TEST_CASE("files: an absolute path is shorter where that leads to the same place, and not behind a link") {
  const TempFolder folder;
  const fs::path root = fs::canonical(folder.path);
  fs::create_directories(root / "real/deep");
  fs::create_directory_symlink(root / "real/deep", root / "link");
  const auto shorter = [&](const char* path) { return absolute_path(root / path).string(); };
  const auto at = [&](const char* path) { return (root / path).string(); };
  CHECK(shorter("real/./deep/../deep/a.txt") == at("real/deep/a.txt"));
  CHECK(shorter("real/../link/../new/a.txt") == at("link/../new/a.txt"));
  CHECK(shorter("link/../../real/../a.txt") == at("link/../../a.txt"));
  CHECK(shorter("none/../a.txt") == at("none/../a.txt"));
  CHECK(shorter("real/") == at("real/"));
  CHECK(absolute_path("/../a.txt").string() == "/a.txt");
  CHECK(absolute_path("a.txt").string() == (fs::current_path() / "a.txt").string());
}

TEST_CASE("mapped file: reads what stands there, empty files too, and outlives a rename over it") {
  const TempFolder folder;
  const auto path = folder.write("a.txt", "hello\n");
  const MappedFile first(path);
  const MappedFile copy = first;
  CHECK(copy.bytes() == "hello\n");
  std::filesystem::rename(folder.write("b.txt", ""), path);
  CHECK(first.bytes() == "hello\n");
  CHECK(MappedFile(path).bytes().empty());
}

TEST_CASE("input file: reads at any place, and throws when the file was cut short") {
  const TempFolder folder;
  const auto path = folder.write("a.txt", "0123456789");
  const InputFile file(path);
  const InputFile copy = file;
  CHECK(file.size() == 10);
  const auto read = [&](std::int64_t offset, std::size_t bytes) {
    std::string out(bytes, '\0');
    copy.read_at(offset, out);
    return out;
  };
  CHECK(read(3, 4) == "3456");
  CHECK(read(10, 0) == "");
  CHECK(read_file(path) == "0123456789");
  CHECK(read_file(folder.write("empty", "")) == "");
  const std::string cut = "cannot read " + path.string() + ": the file was cut short: expected 10 bytes, got ";
  std::filesystem::resize_file(path, 5);
  CHECK(read(2, 3) == "234");
  CHECK_THROWS_WITH_AS(read(2, 4), (cut + "5").c_str(), Error);
  CHECK_THROWS_AS(read(7, 1), Error);
  CHECK_THROWS_WITH_AS(InputFile(folder.path), (folder.path.string() + " is a folder, expected a file").c_str(), Error);
  const std::string missing = (folder.path / "none").string();
  CHECK_THROWS_WITH_AS(read_file(missing), ("cannot open " + missing + ": No such file or directory").c_str(), Error);
}

TEST_CASE("hash: 16 hexadecimal digits") {
  CHECK(to_hex(0) == "0000000000000000");
  CHECK(to_hex(0x0123456789abcdefull) == "0123456789abcdef");
}

TEST_CASE("lines: they end with \\n or \\r\\n, and the last one may have no end") {
  using Lines = std::vector<std::string_view>;
  CHECK(split_lines("") == Lines{});
  CHECK(split_lines("\n") == Lines{""});
  CHECK(split_lines("a\r\n\nb") == Lines{"a", "", "b"});
  CHECK(split_lines("a\rb\n") == Lines{"a\rb"});
  for (const char* text : {"", "\n", "a", "a\n", "a\n\n", "\nb"}) {
    CHECK(count_lines(text) == static_cast<std::int64_t>(split_lines(text).size()));
  }
  std::vector<std::size_t> numbers;
  for_each_line("a\n\n\r\nb", [&](std::string_view, std::size_t number) { numbers.push_back(number); });
  CHECK(numbers == std::vector<std::size_t>{1, 4});
}

TEST_CASE("files: what the system refuses is an error of its own kind, a file that is missing is not") {
  const TempFolder folder;
  const fs::path path = folder.write("file", "text"), loop = folder.path / "loop";
  const auto is_io_error = [](const auto& call) {
    try {
      call();
    } catch (const IoError&) {
      return true;
    } catch (const Error&) {
      return false;
    }
    FAIL("expected an error");
    return false;
  };
  CHECK_FALSE(is_io_error([&] { read_file(folder.path / "none"); }));
  CHECK_FALSE(is_io_error([&] { read_file(path / "below"); }));
  CHECK_FALSE(is_io_error([&] { read_file(folder.path); }));
  {
    const ReadHook hook([&](const fs::path& read) { return read == path ? EIO : 0; });
    CHECK(is_io_error([&] { read_file(path); }));
  }
  CHECK(read_file(path) == "text");
  CHECK(is_there(path));
  CHECK_FALSE(is_there(path / "below"));
  CHECK_FALSE(is_folder(path));
  fs::create_symlink("loop", loop);
  CHECK_THROWS_WITH_AS(is_there(loop),
                       ("cannot look at " + loop.string() + ": Too many levels of symbolic links").c_str(), IoError);
}

TEST_CASE("atomic file: an error of the disk for its folder is one, a file system without such a call is none") {
  const TempFolder folder;
  const auto write_while_folder_fails = [&](int error) {
    const FsyncHook hook([&](const fs::path& path) { return path == folder.path ? error : 0; });
    write_file_atomically(folder.path / "out", "text");
  };
  for (const int unsupported : {EINVAL, ENOTSUP, ENOSYS}) CHECK_NOTHROW(write_while_folder_fails(unsupported));
  for (const int error : {EIO, ENOSPC}) CHECK_THROWS_AS(write_while_folder_fails(error), IoError);
}

TEST_CASE("mapped file: errors for a missing file, a folder and a device") {
  const TempFolder folder;
  const std::string missing = (folder.path / "none").string();
  CHECK_THROWS_WITH_AS(MappedFile{missing}, ("cannot open " + missing + ": No such file or directory").c_str(), Error);
  CHECK_THROWS_WITH_AS(MappedFile{folder.path}, (folder.path.string() + " is a folder, expected a file").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(MappedFile{"/dev/null"}, "/dev/null is not a regular file", Error);
}

TEST_CASE("atomic file: appears whole on commit, and leaves nothing behind without") {
  const TempFolder folder;
  const auto path = folder.write("out", "old");
  {
    AtomicFile file(path);
    file.append("xxxx");
    file.append("-new");
    file.write_at(0, "very");
    CHECK(read_all(path) == "old");
    file.commit();
  }
  CHECK(read_all(path) == "very-new");
  {
    AtomicFile file(path);
    file.append("half");
    CHECK(folder.entries() == 2);
  }
  CHECK(read_all(path) == "very-new");
  CHECK(folder.entries() == 1);
}

TEST_CASE("atomic file: the new file has the permissions of the one that it replaces") {
  namespace fs = std::filesystem;
  const TempFolder folder;
  const auto path = folder.write("private.txt", "old");
  for (const fs::perms mode : {fs::perms(0600), fs::perms(0640), fs::perms(0755)}) {
    fs::permissions(path, mode);
    AtomicFile file(path);
    file.append("new");
    CHECK(fs::status(file.temporary_path()).permissions() == mode);  // before anything is written, too
    file.commit();
    CHECK(fs::status(path).permissions() == mode);
  }
  CHECK(read_file(path) == "new");
}

TEST_CASE("atomic file: a temporary file of another process with the same number is left alone") {
  const TempFolder folder;
  std::filesystem::path next;
  {
    const AtomicFile file(folder.path / "out");
    const std::string name = file.temporary_path().string();
    const std::size_t dash = name.rfind('-') + 1;
    next = name.substr(0, dash) + std::to_string(std::stoi(name.substr(dash)) + 1);
  }
  folder.write(next.filename().string(), "of another");
  AtomicFile file(folder.path / "out");
  CHECK(file.temporary_path() != next);
  file.append("mine");
  file.commit();
  CHECK(read_all(next) == "of another");
  CHECK(read_all(folder.path / "out") == "mine");
}

TEST_CASE("atomic file: errors for a missing folder, a full disk, and what is no file in its place") {
  const TempFolder folder;
  const std::string lost = (folder.path / "none" / "out").string();
  CHECK_THROWS_WITH_AS(AtomicFile{lost}, ("cannot write " + lost + ": No such file or directory").c_str(), Error);

  // The system's limit on file sizes stands in for a full disk.
  const std::string big = (folder.path / "big").string();
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  CHECK_THROWS_WITH_AS(AtomicFile(big).append(std::string(2000, 'x')),
                       ("cannot write " + big + ": File too large").c_str(), Error);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(folder.entries() == 0);

  std::filesystem::create_directory(folder.path / "taken");
  const std::string taken = (folder.path / "taken").string();
  CHECK_THROWS_WITH_AS(AtomicFile{taken}, (taken + " is a folder, expected a file").c_str(), Error);
  const std::string pipe = (folder.path / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(AtomicFile{pipe}, (pipe + " is not a regular file").c_str(), Error);
  CHECK(folder.entries() == 2);

  const std::filesystem::path link = folder.path / "link", target = folder.path / "taken" / "target";
  write_file_atomically(target, "old");
  std::filesystem::create_symlink("taken/target", link);
  write_file_atomically(link, "new");
  CHECK(std::filesystem::is_symlink(link));
  CHECK(MappedFile(target).bytes() == "new");

  // Links to a file that is not there yet stay links, too.
  const std::filesystem::path missing = folder.path / "taken" / "missing", longer = folder.path / "longer";
  std::filesystem::create_symlink("taken/missing", folder.path / "dangling");
  std::filesystem::create_symlink(folder.path / "dangling", longer);
  write_file_atomically(longer, "made");
  CHECK(std::filesystem::is_symlink(longer));
  CHECK(std::filesystem::is_symlink(folder.path / "dangling"));
  CHECK(MappedFile(missing).bytes() == "made");
}

TEST_CASE("nearest name: fewest letters changed, the first of several") {
  const std::string_view known[] = {"dropout", "dim", "layers", "heads"};
  CHECK(nearest_name("layer", known) == "layers");
  CHECK(nearest_name("droput", known) == "dropout");
  CHECK(nearest_name("layers" + std::string(10 << 20, 's'), known) == "layers");  // of a text only the beginning counts
  CHECK(nearest_name("dmi", known) == "dim");
  CHECK(nearest_name("", known) == "dim");
  const std::string_view tied[] = {"ab", "ac"};
  CHECK(nearest_name("a", tied) == "ab");
}

TEST_CASE("atomic file: what a killed process has left is removed, and nothing else") {
  const TempFolder folder;
  folder.write("a.txt.tmp-12-0", "left behind");
  folder.write("a.txt", "whole");
  AtomicFile file(folder.path / "b.txt");
  file.append("half");
  remove_abandoned(folder.path);
  CHECK(folder.entries() == 2);
  CHECK(std::filesystem::exists(file.temporary_path()));
  file.commit();
  CHECK(read_all(folder.path / "a.txt") == "whole");
  CHECK(read_all(folder.path / "b.txt") == "half");
  CHECK_NOTHROW(remove_abandoned(folder.path / "none"));
}
