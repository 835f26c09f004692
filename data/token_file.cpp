#include "data/token_file.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "autograd/core/error.h"
#include "autograd/core/hash.h"
#include "tokenizer/pretokenizer.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little, "token files are read in place, as little-endian");

constexpr char kMagic[8] = {'t', 'a', 'p', 'e', 't', 'o', 'k', 's'};
constexpr std::uint32_t kVersion = 1;
// Text encoded at a time; its ids take a few times as much.
constexpr std::size_t kPartBytes = std::size_t{8} << 20;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t id_bits;
  std::int64_t count;
  std::int64_t text_bytes;
  std::uint64_t source_hash;
  std::uint64_t tokenizer_hash;
  std::uint64_t payload_hash;
  std::uint64_t header_hash;  // of all the bytes before it
};
static_assert(sizeof(Header) == 64);

std::string_view bytes_of(const auto& object, std::size_t size) {
  return {reinterpret_cast<const char*>(&object), size};
}

std::uint64_t hash_of(const Header& header) { return hash_bytes(bytes_of(header, offsetof(Header, header_hash))); }

template <class Id>
std::string_view bytes_of(std::span<const Id> ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
}

std::string hex(std::uint64_t value) {
  std::string out(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

}  // namespace

void TokenView::copy(std::int64_t begin, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  check(begin >= 0 && begin + count <= size(), "tokens: ", begin, " to ", begin + count, " is out of range for ",
        size(), " tokens");
  std::visit([&](const auto& ids) { std::copy_n(ids.begin() + begin, count, out.begin()); }, ids_);
}

void TokenView::read_ahead(std::int64_t begin, std::int64_t count) const {
  std::visit([&](const auto& ids) { tapeformer::read_ahead(bytes_of(ids.subspan(begin, count))); }, ids_);
}

TokenFile TokenFile::open(const fs::path& path) {
  TokenFile file(path, MappedFile(path));
  const std::string_view bytes = file.file_.bytes();
  const std::string where = concat("token file ", path.string(), ": ");
  check(bytes.substr(0, sizeof kMagic) == std::string_view(kMagic, sizeof kMagic), where, "not a token file");
  check(bytes.size() >= sizeof(Header), where, "truncated: expected a header of ", sizeof(Header), " bytes, got ",
        bytes.size());
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  check(header.version == kVersion, where, "version ", header.version, ", expected ", kVersion);
  check(header.header_hash == hash_of(header), where, "damaged header: its checksum differs");
  check(header.id_bits == 16 || header.id_bits == 32, where, "ids of ", header.id_bits, " bits, expected 16 or 32");
  const std::int64_t id_bytes = header.id_bits / 8, most = std::numeric_limits<std::int64_t>::max() / id_bytes;
  check(header.count >= 0 && header.count < most - 64, where, "a count of ", header.count, " ids");
  const std::uint64_t expected = sizeof header + static_cast<std::uint64_t>(header.count * id_bytes);
  check(bytes.size() == expected, where, bytes.size() < expected ? "truncated: " : "", "expected ", expected,
        " bytes for ", header.count, " ids of ", header.id_bits, " bits, got ", bytes.size());
  file.id_bits_ = static_cast<int>(header.id_bits);
  file.count_ = header.count;
  file.text_bytes_ = header.text_bytes;
  file.source_hash_ = header.source_hash;
  file.tokenizer_hash_ = header.tokenizer_hash;
  file.payload_hash_ = header.payload_hash;
  return file;
}

std::string_view TokenFile::payload() const { return file_.bytes().substr(sizeof(Header)); }

TokenView TokenFile::view() const {
  const void* ids = payload().data();
  const auto count = static_cast<std::size_t>(count_);
  if (id_bits_ == 16) return std::span(static_cast<const std::uint16_t*>(ids), count);
  return std::span(static_cast<const std::int32_t*>(ids), count);
}

void TokenFile::verify() const {
  check(hash_bytes(payload()) == payload_hash_, "token file ", path_.string(),
        ": damaged: the checksum of its ids differs");
}

std::uint64_t source_hash(std::span<const std::string_view> pieces) {
  Hasher hasher;
  for (const std::string_view piece : pieces) {
    hasher.update(piece.size());
    hasher.update(piece);
  }
  return hasher.digest();
}

void build_token_file(const fs::path& path, std::span<const std::string_view> pieces, const Tokenizer& tokenizer) {
  const bool narrow = tokenizer.vocab_size() <= std::numeric_limits<std::uint16_t>::max() + 1;
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.id_bits = narrow ? 16 : 32;
  header.source_hash = source_hash(pieces);
  header.tokenizer_hash = tokenizer.hash();

  AtomicFile file(path);
  file.append(bytes_of(header, sizeof header));  // holds the place
  Hasher hasher;
  const auto append = [&](std::string_view bytes) {
    hasher.update(bytes);
    file.append(bytes);
  };
  std::vector<std::uint16_t> narrow_ids;
  for (std::string_view rest : pieces) {
    header.text_bytes += static_cast<std::int64_t>(rest.size());
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, safe_cut(rest, kPartBytes));
      const std::vector<std::int32_t> ids = tokenizer.encode(part);
      header.count += static_cast<std::int64_t>(ids.size());
      if (narrow) {
        narrow_ids.assign(ids.begin(), ids.end());
        append(bytes_of(std::span<const std::uint16_t>(narrow_ids)));
      } else {
        append(bytes_of(std::span<const std::int32_t>(ids)));
      }
      rest.remove_prefix(part.size());
    }
  }
  header.payload_hash = hasher.digest();
  header.header_hash = hash_of(header);
  file.write_at(0, bytes_of(header, sizeof header));
  file.commit();
}

TokenFile cached_token_file(const fs::path& folder, std::string_view name, std::span<const std::string_view> pieces,
                            const Tokenizer& tokenizer) {
  std::error_code error;
  fs::create_directories(folder, error);
  check(!error, "cannot make folder ", folder.string(), ": ", error.message());
  const std::uint64_t source = source_hash(pieces);
  const fs::path path = folder / concat(name, "-", hex(source), "-", hex(tokenizer.hash()), ".tokens");
  if (fs::exists(path, error)) {
    try {
      TokenFile file = TokenFile::open(path);
      file.verify();
      if (file.source_hash() == source && file.tokenizer_hash() == tokenizer.hash()) return file;
    } catch (const Error&) {
      // Damaged, or of another version: built anew below.
    }
  }
  build_token_file(path, pieces, tokenizer);
  return TokenFile::open(path);
}

}  // namespace tapeformer
