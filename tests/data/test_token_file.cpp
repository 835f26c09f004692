#include <doctest/doctest.h>

#include <numeric>

#include "core/error.h"
#include "data/text/token_file.h"
#include "tests/temp_folder.h"

using namespace tapeformer;
namespace fs = std::filesystem;

namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kNarrow = 65536;

void write(const fs::path& path, const Ids& ids, std::int64_t vocab_size = kNarrow) {
  TokenFileWriter file(path, vocab_size, 11, 22);
  // In uneven pieces.
  const std::span all(ids);
  file.append(all.first(all.size() / 3));
  file.append(all.subspan(all.size() / 3));
  file.commit(33);
}

Ids read_ids(const TokenFile& file) {
  Ids out(file.size());
  file.copy(0, out);
  return out;
}

Ids wrapped_ids(int count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  for (std::int32_t& id : ids) id %= 60000;
  return ids;
}

void write_at(const fs::path& path, std::int64_t offset, std::string_view bytes) {
  std::string all = read_all(path);
  all.replace(offset, bytes.size(), bytes);
  std::ofstream(path, std::ios::binary) << all;
}

}  // namespace

TEST_CASE("token file: holds the ids, the size of the text and the hashes") {
  const TempFolder folder;
  const fs::path path = folder.path / "a.tokens";
  const Ids ids = {3, 1, 4, 1, 5};
  write(path, ids);
  const TokenFile file = TokenFile::open(path);
  file.verify();
  CHECK(file.size() == 5);
  CHECK(file.text_bytes() == 33);
  CHECK(file.id_bits() == 16);
  CHECK(file.source_hash() == 11);
  CHECK(file.tokenizer_hash() == 22);
  CHECK(read_ids(file) == ids);
  CHECK(fs::file_size(path) == 64 + 5 * 2 + 6 + 8);
  CHECK(folder.entries() == 1);
  write(path, {});
  CHECK(TokenFile::open(path).size() == 0);
  TokenFile::open(path).verify();
}

TEST_CASE("token file: 16 bits an id up to 65536 tokens, 32 beyond, over many blocks") {
  const TempFolder folder;
  Ids ids = wrapped_ids(300001);
  write(folder.path / "narrow", ids);
  const TokenFile narrow = TokenFile::open(folder.path / "narrow");
  CHECK(narrow.id_bits() == 16);
  CHECK((read_ids(narrow) == ids));
  ids[7] = 65536;
  write(folder.path / "wide", ids, 65537);
  const TokenFile wide = TokenFile::open(folder.path / "wide");
  CHECK(wide.id_bits() == 32);
  CHECK((read_ids(wide) == ids));
  wide.verify();
}

TEST_CASE("token file: nothing is left of one that was not finished") {
  const TempFolder folder;
  { TokenFileWriter(folder.path / "a", kNarrow, 0, 0).append(Ids{1, 2, 3}); }
  CHECK(folder.entries() == 0);
}

TEST_CASE("token file: errors for truncated, foreign, other-version and damaged files") {
  const TempFolder folder;
  const fs::path path = folder.path / "a.tokens";
  const std::string where = "token file " + path.string() + ": ";
  const auto build = [&] { write(path, {1, 2, 3, 1, 2, 3, 1, 2, 3}); };
  const auto message = [&]() -> std::string {
    try {
      TokenFile::open(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(message() == "cannot open " + path.string() + ": No such file or directory");
  build();
  CHECK(message() == "no error");
  fs::resize_file(path, 95);
  CHECK(message() == where + "truncated: expected 96 bytes for 9 ids of 16 bits, got 95");
  fs::resize_file(path, 104);
  CHECK(message() == where + "expected 96 bytes for 9 ids of 16 bits, got 104");
  fs::resize_file(path, 30);
  CHECK(message() == where + "truncated: expected a header of 64 bytes, got 30");
  build();
  write_at(path, 0, "TAPE");
  CHECK(message() == where + "not a token file");
  folder.write("a.tokens", "");
  CHECK(message() == where + "not a token file");
  build();
  write_at(path, 8, "\x01");
  CHECK(message() == where + "version 1, expected 2");
  build();
  write_at(path, 16, "\x08");
  CHECK(message() == where + "damaged header: its checksum differs");
  // A header that is damaged and has the right checksum.
  const auto forge = [&](std::int64_t offset, std::string_view bytes) {
    build();
    write_at(path, offset, bytes);
    const std::uint64_t hash = hash_bytes(read_all(path).substr(0, 56));
    write_at(path, 56, {reinterpret_cast<const char*>(&hash), sizeof hash});
  };
  forge(12, "\x08");
  CHECK(message() == where + "ids of 8 bits, expected 16 or 32");
  forge(16, std::string("\x09\0\0\0\0\0\0\x80", 8));
  CHECK(message() == where + "a count of -9223372036854775799 ids in 96 bytes");
  forge(16, std::string("\x09\0\0\0\0\0\0\x40", 8));
  CHECK(message() == where + "a count of 4611686018427387913 ids in 96 bytes");
  build();
  write_at(path, 90, "\x7f");
  CHECK(message() == where + "damaged: the checksum of its checksums differs");
}

TEST_CASE("token file: a damaged block of ids is refused when it is first read, and no other") {
  const TempFolder folder;
  const fs::path path = folder.path / "a.tokens";
  const Ids ids = wrapped_ids(300001);
  constexpr std::int64_t kBlock = StoredIds::kBlockBytes / 2;
  write(path, ids);
  write_at(path, 64 + 2 * (kBlock + 5), "\x7f");
  const TokenFile file = TokenFile::open(path);
  const std::string damaged =
      "token file " + path.string() + ": damaged: a checksum of its ids differs; the next training makes it again";
  const auto copy = [&](std::int64_t begin, std::int64_t count) {
    Ids out(count);
    file.copy(begin, out);
    CHECK((out == Ids(ids.begin() + begin, ids.begin() + begin + count)));
  };
  copy(0, kBlock);
  copy(2 * kBlock, 300001 - 2 * kBlock);
  for (int again = 0; again < 2; ++again) {
    CHECK_THROWS_WITH_AS(copy(kBlock - 1, 2), damaged.c_str(), Error);
    CHECK_THROWS_WITH_AS(copy(2 * kBlock - 1, 1), damaged.c_str(), Error);
    CHECK_THROWS_WITH_AS(file.verify(), damaged.c_str(), Error);
  }
}

TEST_CASE("token file: each block is checked, whichever was before, the first and the last too") {
  const TempFolder folder;
  const fs::path path = folder.path / "a.tokens";
  constexpr std::int64_t kBlock = StoredIds::kBlockBytes / 2, kCount = 2 * kBlock + 1;
  for (const std::int64_t place : {std::int64_t{0}, kBlock - 1, kBlock, kCount - 1}) {
    CAPTURE(place);
    write(path, wrapped_ids(kCount));
    write_at(path, 64 + 2 * place, "\x7e\x7e");
    const TokenFile file = TokenFile::open(path);
    const TokenView ids = file.view();
    for (const std::int64_t block : {1, 2, 0, 1}) {
      if (block != place / kBlock) CHECK(ids[block * kBlock] == block * kBlock % 60000);
    }
    CHECK_THROWS_AS(ids[place], Error);
    CHECK_THROWS_AS(ids[place / kBlock * kBlock], Error);
    CHECK_THROWS_AS(file.verify(), Error);
  }
}

TEST_CASE("token file: one that is cut short while it is open is an error, not the end of the process") {
  const TempFolder folder;
  const fs::path path = folder.path / "a.tokens";
  write(path, wrapped_ids(300001));
  const TokenFile file = TokenFile::open(path);
  const auto size = static_cast<std::int64_t>(fs::file_size(path));
  CHECK(file.view()[0] == 0);
  fs::resize_file(path, 4096);
  CHECK_THROWS_WITH_AS(
      file.view()[300000],
      doctest::Contains(
          str_cat("cannot read ", path.string(), ": the file was cut short: expected ", size, " bytes, got ").c_str()),
      Error);
  CHECK_THROWS_AS(file.view()[100000], Error);
}
