// Files of tokens are kept, reused and made again.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "core/error.h"
#include "tests/data/token_files.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

TokenFile cached(const TokenCache& cache, const TextSource& source, const Tokenizer& tokenizer) {
  TextReader reader(source);
  return cache.tokens("train", reader, whole(source), tokenizer);
}

int files_in(const fs::path& folder) { return static_cast<int>(std::distance(fs::directory_iterator(folder), {})); }

void overwrite(const fs::path& path, std::int64_t offset, std::string_view bytes) {
  std::string all = read_all(path);
  all.replace(offset, bytes.size(), bytes);
  std::ofstream(path, std::ios::binary) << all;
}

}  // namespace

TEST_CASE("token cache: tokens are reused while text and tokenizer are unchanged, else built") {
  const TempFolder folder;
  const fs::path deep = folder.path / "deep" / "cache";
  const TokenCache cache(deep);
  const MemoryText text("some text\n"), other("same text\n");
  const auto chars = train("char", 0, "some text\nsame text\n"), words = train("word", 50, "some text\nsame text\n");
  const fs::path path = cached(cache, text, *chars).path();
  CHECK(path.filename().string().starts_with("train-"));
  const auto written = fs::last_write_time(path) - std::chrono::hours(5);
  fs::last_write_time(path, written);

  const TextRange range = whole(text);
  text.times_read = 0;
  TextReader reader(text);
  const TokenFile again = cache.tokens("train", reader, range, *chars);
  CHECK(text.times_read == 0);
  CHECK(again.path() == path);
  CHECK(ids_of(again) == chars->encode("some text\n"));

  CHECK(ids_of(cached(cache, other, *chars)) == chars->encode("same text\n"));
  CHECK(ids_of(cached(cache, text, *words)) == words->encode("some text\n"));
  CHECK(files_in(deep) == 3);
  CHECK(fs::last_write_time(path) == written);

  // A file that is not whole is not used, nor is a file of other tokens that has this name.
  const auto check_rebuilt = [&] {
    CHECK(ids_of(cached(cache, text, *chars)) == chars->encode("some text\n"));
    CHECK(files_in(deep) == 3);
  };
  overwrite(path, 20, "\x7f");
  check_rebuilt();
  fs::resize_file(path, 65);
  check_rebuilt();
  build(path, other, *chars);
  check_rebuilt();
  build(path, text, *words);
  check_rebuilt();
}

TEST_CASE("token cache: tokens that were not used for long are removed, and no other file") {
  const TempFolder folder;
  const MemoryText text("some text\n"), other("same text\n");
  const auto chars = train("char", 0, "some text\nsame text\n");
  const auto age = [](const fs::path& path, int days) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
  };
  const TokenCache cache(folder.path);
  const fs::path used = cached(cache, text, *chars).path(), unused = cached(cache, other, *chars).path();
  const fs::path foreign = folder.path / "my.tokens";
  std::ofstream(foreign) << "mine";
  for (const fs::path& path : {used, unused, foreign}) age(path, 89);
  cached(TokenCache(folder.path), text, *chars);
  CHECK(fs::last_write_time(used) > fs::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(fs::exists(unused));
  for (const fs::path& path : {unused, foreign}) age(path, 91);
  const TokenCache later(folder.path);
  CHECK(fs::exists(used));
  CHECK_FALSE(fs::exists(unused));
  CHECK(fs::exists(foreign));
}

TEST_CASE("token cache: what a program that encodes or learns in another way has stored is not used") {
  for (const std::string older : {"", "-v1"}) {
    CAPTURE(older);
    const TempFolder folder;
    const TokenCache cache(folder.path);
    const MemoryText text("some text\n");
    const auto chars = cache.tokenizer(1, [] { return train("char", 0, "some text\n"); });
    const fs::path tokens = cached(cache, text, *chars).path();
    // Gives the files the names that an older version of this program gives them.
    for (const fs::directory_entry& entry : std::vector<fs::directory_entry>(fs::directory_iterator(folder.path), {})) {
      const fs::path file = entry.path();
      const std::string stem = file.stem().string();
      const std::size_t version = stem.rfind("-v");
      REQUIRE(version != stem.npos);
      fs::rename(file, folder.path / (stem.substr(0, version) + older + file.extension().string()));
    }
    CHECK(cached(cache, text, *chars).path() == tokens);
    CHECK(cache.tokenizer(1, [] { return train("char", 0, "other\n"); })->to_json() != chars->to_json());
    CHECK(files_in(folder.path) == 4);
  }
}

TEST_CASE("token cache: a text is read for its summary once, unless it may have changed") {
  const TempFolder folder;
  const TokenCache cache(folder.path);
  MemoryText text("some text\n");
  const TextSummary expected = summarize(text);
  text.times_read = 0;
  CHECK(cache.summary(text).hash == expected.hash);
  CHECK(cache.summary(text).hash == expected.hash);
  CHECK(cache.summary(text).bytes == 10);
  CHECK(text.times_read == 1);
  text.stamped.value = 5;
  cache.summary(text);
  CHECK(text.times_read == 2);
  text.stamped = {.value = 6, .settled = false};
  cache.summary(text);
  cache.summary(text);
  CHECK(text.times_read == 4);
  CHECK(files_in(folder.path) == 2);
  // A damaged summary is not used.
  text.stamped = {.value = 5, .settled = true};
  for (const char* damaged :
       {"{\"bytes\": 1", "[1, 2]", "{\"bytes\": 1}", "{\"hash\": 1}", "{\"bytes\": \"1\", \"hash\": 2}",
        "{\"bytes\": -1, \"hash\": 2}", "{\"bytes\": 1.5, \"hash\": 2}", "{\"bytes\": 1, \"hash\": -2}"}) {
    for (const auto& entry : fs::directory_iterator(folder.path)) std::ofstream(entry.path()) << damaged;
    text.times_read = 0;
    CHECK(cache.summary(text).bytes == 10);
    CHECK(text.times_read == 1);
  }
}

TEST_CASE("token cache: what is damaged is noticed by its checksum, made again, and told") {
  const TempFolder folder;
  const TokenCache cache(folder.path);
  const auto change = [&](std::string_view beginning, std::string_view from, std::string_view to) {
    for (const auto& entry : fs::directory_iterator(folder.path)) {
      if (!entry.path().filename().string().starts_with(beginning)) continue;
      std::string bytes = read_all(entry.path());
      const std::size_t at = bytes.find(from);
      REQUIRE(at != bytes.npos);
      std::ofstream(entry.path(), std::ios::binary) << bytes.replace(at, from.size(), to);
      return entry.path().string();
    }
    FAIL("no such file");
    return std::string();
  };
  const auto told = [&](const std::string& path) {
    REQUIRE_FALSE(cache.found_damaged().empty());
    CHECK(cache.found_damaged().back() ==
          "the cache's " + path + " is damaged or of another version: it is made again");
  };
  const MemoryText text("some text\n");
  const auto learn = [] { return train("char", 0, "some text\n"); };
  cache.summary(text);
  const auto tokenizer = cache.tokenizer(1, learn);
  CHECK(ids_of(cached(cache, text, *tokenizer)) == tokenizer->encode("some text\n"));
  CHECK(cache.found_damaged().empty());

  const std::string summary = change("text-", "\"bytes\":10", "\"bytes\":11");
  CHECK(cache.summary(text).bytes == 10);
  told(summary);
  const std::string learned = change("tokenizer-", "\\\"e\\\"", "\\\"E\\\"");
  CHECK(cache.tokenizer(1, learn)->to_json() == tokenizer->to_json());
  told(learned);
  const fs::path tokens = cached(cache, text, *tokenizer).path();
  overwrite(tokens, 64, std::string("\x01\0", 2));  // the first id
  CHECK(ids_of(cached(cache, text, *tokenizer)) == tokenizer->encode("some text\n"));
  told(tokens);
  CHECK(cache.found_damaged().size() == 3);
  cache.summary(text);
  cached(cache, text, *cache.tokenizer(1, learn));
  CHECK(cache.found_damaged().size() == 3);  // all are whole again
}

TEST_CASE("token cache: it may be removed while its tokens are read, and is there again for what is made next") {
  const TempFolder folder;
  const TokenCache cache(folder.path / "deep" / "cache");
  const MemoryText text("some text\n");
  const auto tokenizer = train("char", 0, "some text\n");
  const auto remove = [&] { fs::remove_all(folder.path / "deep"); };
  const auto learn = [] { return train("char", 0, "some text\n"); };
  remove();
  CHECK(cache.summary(text).bytes == 10);
  remove();
  CHECK(cache.tokenizer(1, learn)->to_json() == tokenizer->to_json());
  remove();
  const TokenFile tokens = cached(cache, text, *tokenizer);
  remove();
  CHECK(ids_of(tokens) == tokenizer->encode("some text\n"));
  CHECK(ids_of(cached(cache, text, *tokenizer)) == tokenizer->encode("some text\n"));
  CHECK(files_in(cache.folder()) == 1);
  remove();
  {
    TextReader reader(text);
    CHECK_THROWS_WITH_AS(cache.tokens("train", reader, whole(text), *tokenizer, [&](double) { remove(); }),
                         doctest::Contains(".tokens: No such file or directory"), Error);
  }
  CHECK(ids_of(cached(cache, text, *tokenizer)) == tokenizer->encode("some text\n"));
  CHECK(cache.found_damaged().empty());
}

TEST_CASE("text range: other bounds or another text give another hash") {
  std::set<std::uint64_t> hashes;
  for (const std::uint64_t text : {1, 2}) {
    for (const auto& [begin, end] : {std::pair{0, 5}, {0, 6}, {1, 5}, {1, 6}, {5, 0}}) {
      hashes.insert(TextRange{{.bytes = 9, .hash = text, .stamp = {}}, begin, end}.hash());
    }
  }
  CHECK(hashes.size() == 10);
}

TEST_CASE("token cache: a tokenizer is learned once for a key") {
  const TempFolder folder;
  const TokenCache cache(folder.path);
  int learned = 0;
  const auto learn = [&] {
    ++learned;
    return train("char", 0, "abc");
  };
  const std::string json = cache.tokenizer(1, learn)->to_json();
  CHECK(cache.tokenizer(1, learn)->to_json() == json);
  CHECK(learned == 1);
  cache.tokenizer(2, learn);
  CHECK(learned == 2);
  for (const auto& entry : fs::directory_iterator(folder.path)) std::ofstream(entry.path()) << "{";
  CHECK(cache.tokenizer(1, learn)->to_json() == json);
  CHECK(learned == 3);
}

TEST_CASE("token cache: what a killed process has half-written is removed and made again; of a living one it stays") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "abc\n";
  const MemoryText source(text);
  const auto tokenizer = train("char", 0, text);
  int begun[2];
  REQUIRE(::pipe(begun) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    TextReader reader(source, 1000);
    build_token_file(folder.path / "train-x.tokens", reader, whole(source), *tokenizer, [&](double) {
      if (::write(begun[1], "x", 1) == 1) ::pause();
    });
    ::_exit(0);
  }
  ::close(begun[1]);
  char first = 0;
  REQUIRE(::read(begun[0], &first, 1) == 1);  // now the file is there, and locked
  const TokenCache while_alive(folder.path);
  CHECK(folder.entries() == 1);
  CHECK_FALSE(fs::exists(folder.path / "train-x.tokens"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(begun[0]);
  CHECK(folder.entries() == 1);
  folder.write("other", "x");
  const TokenCache cache(folder.path);
  CHECK(folder.entries() == 1);
  CHECK(ids_of(cached(cache, source, *tokenizer)) == tokenizer->encode(text));
  CHECK(folder.entries() == 2);
}

TEST_CASE("token cache: where nothing can be written, a temporary folder serves, with a warning") {
  const TempFolder folder;
  const MemoryText source(std::string("abc abc"));
  const auto tokenizer = train("char", 0, "abc ");
  fs::path temporary;
  Ids ids;
  {
    const TokenCache cache(folder.write("file", "in the way") / "cache");
    temporary = cache.writable_folder();
    CHECK(temporary != cache.folder());
    CHECK(cache.warning() ==
          str_cat("the cache folder ", cache.folder().string(),
                  " cannot be written (Not a directory): what is made of the text is kept in a temporary folder, and "
                  "made again next time"));
    CHECK(cache.summary(source).bytes == 7);
    const TokenFile file = cached(cache, source, *tokenizer);
    ids = ids_of(file);
    CHECK(fs::exists(file.path()));
    CHECK(cached(cache, source, *tokenizer).path() == file.path());
  }
  CHECK(ids == tokenizer->encode("abc abc"));
  CHECK_FALSE(fs::exists(temporary));
  CHECK(TokenCache(folder.path / "new").warning() == "");
}

TEST_CASE("token cache: what was odd about a text is told again when its summary is known") {
  const TempFolder folder;
  const TokenCache cache(folder.path / "cache");
  const fs::path path = folder.write("a.txt", "\xEF\xBB\xBFtext");
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  const FileText source({path}, {});
  const TextSummary summary = cache.summary(source);
  CHECK(summary.bytes == 4);
  CHECK(summary.notes.lines().size() == 1);
  CHECK(cache.summary(source).notes.lines() == summary.notes.lines());
}
