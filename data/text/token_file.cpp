#include "data/text/token_file.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little, "token files are read in place, as little-endian");

constexpr char kMagic[8] = {'t', 'a', 'p', 'e', 't', 'o', 'k', 's'};
constexpr std::uint32_t kVersion = 2;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t id_bits;
  std::int64_t count;
  std::int64_t text_bytes;
  std::uint64_t source_hash;
  std::uint64_t tokenizer_hash;
  std::uint64_t blocks_hash;  // of the checksums of all blocks
  std::uint64_t header_hash;  // of all the bytes before it
};
static_assert(sizeof(Header) == 64);

std::string_view bytes_of(const Header& header, std::size_t size = sizeof(Header)) {
  return {reinterpret_cast<const char*>(&header), size};
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::uint64_t hash_of(const Header& header) { return hash_bytes(bytes_of(header, offsetof(Header, header_hash))); }

std::uint64_t ids_bytes(const Header& header) { return header.count * (header.id_bits / 8); }
std::uint64_t block_count(const Header& header) {
  return (ids_bytes(header) + BlockChecksums::kBlockBytes - 1) / BlockChecksums::kBlockBytes;
}
std::uint64_t padding(const Header& header) { return -ids_bytes(header) % sizeof(std::uint64_t); }

}  // namespace

void BlockChecksums::verify(std::size_t begin, std::size_t end) const {
  for (std::size_t block = begin / kBlockBytes; block * kBlockBytes < end; ++block) {
    if (verified_[block].load(std::memory_order_relaxed)) continue;
    check(hash_bytes(ids_.substr(block * kBlockBytes, kBlockBytes)) == hashes_[block], "token file ", path_.string(),
          ": damaged: a checksum of its ids differs; remove it, and it will be made again");
    verified_[block].store(true, std::memory_order_relaxed);
  }
}

void TokenView::copy(std::int64_t begin, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  check(begin >= 0 && begin + count <= size(), "tokens: ", begin, " to ", begin + count, " is out of range for ",
        size(), " tokens");
  std::visit(
      [&](const auto& ids) {
        if (checksums_) checksums_->verify(begin * sizeof(ids[0]), (begin + count) * sizeof(ids[0]));
        std::copy_n(ids.begin() + begin, count, out.begin());
      },
      ids_);
}

void TokenView::read_ahead(std::int64_t begin, std::int64_t count) const {
  std::visit([&](const auto& ids) { tapeformer::read_ahead(bytes_of(ids.subspan(begin, count))); }, ids_);
}

TokenFile TokenFile::open(const fs::path& path) {
  TokenFile file(path, MappedFile(path));
  const std::string_view bytes = file.file_.bytes();
  const std::string where = str_cat("token file ", path.string(), ": ");
  check(bytes.substr(0, sizeof kMagic) == std::string_view(kMagic, sizeof kMagic), where, "not a token file");
  check(bytes.size() >= sizeof(Header), where, "truncated: expected a header of ", sizeof(Header), " bytes, got ",
        bytes.size());
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  check(header.version == kVersion, where, "version ", header.version, ", expected ", kVersion);
  check(header.header_hash == hash_of(header), where, "damaged header: its checksum differs");
  check(header.id_bits == 16 || header.id_bits == 32, where, "ids of ", header.id_bits, " bits, expected 16 or 32");
  // So that none of the sums below can overflow.
  check(header.count >= 0 && header.count <= static_cast<std::int64_t>(bytes.size()), where, "a count of ",
        header.count, " ids in ", bytes.size(), " bytes");
  const std::uint64_t blocks_begin = sizeof header + ids_bytes(header) + padding(header);
  const std::uint64_t expected = blocks_begin + block_count(header) * sizeof(std::uint64_t);
  check(bytes.size() == expected, where, bytes.size() < expected ? "truncated: " : "", "expected ", expected,
        " bytes for ", header.count, " ids of ", header.id_bits, " bits, got ", bytes.size());
  const std::span hashes(reinterpret_cast<const std::uint64_t*>(bytes.data() + blocks_begin), block_count(header));
  check(hash_bytes(bytes_of(hashes)) == header.blocks_hash, where, "damaged: the checksum of its checksums differs");
  file.id_bits_ = static_cast<int>(header.id_bits);
  file.count_ = header.count;
  file.text_bytes_ = header.text_bytes;
  file.source_hash_ = header.source_hash;
  file.tokenizer_hash_ = header.tokenizer_hash;
  file.checksums_ = std::make_shared<const BlockChecksums>(path, file.ids(), hashes);
  return file;
}

std::string_view TokenFile::ids() const { return file_.bytes().substr(sizeof(Header), count_ * (id_bits_ / 8)); }

TokenView TokenFile::view() const {
  const void* begin = ids().data();
  const auto count = static_cast<std::size_t>(count_);
  if (id_bits_ == 16) return {std::span(static_cast<const std::uint16_t*>(begin), count), checksums_.get()};
  return {std::span(static_cast<const std::int32_t*>(begin), count), checksums_.get()};
}

void TokenFile::verify() const { checksums_->verify(0, ids().size()); }

TokenFileWriter::TokenFileWriter(const fs::path& path, std::int64_t vocab_size, std::uint64_t source_hash,
                                 std::uint64_t tokenizer_hash)
    : file_(path),
      source_hash_(source_hash),
      tokenizer_hash_(tokenizer_hash),
      narrow_(vocab_size <= std::numeric_limits<std::uint16_t>::max() + 1) {
  file_.append(bytes_of(Header{}));  // holds the place
}

void TokenFileWriter::append(std::span<const std::int32_t> ids) {
  count_ += static_cast<std::int64_t>(ids.size());
  if (!narrow_) return append_bytes(bytes_of(ids));
  narrow_ids_.assign(ids.begin(), ids.end());
  append_bytes(bytes_of(std::span<const std::uint16_t>(narrow_ids_)));
}

void TokenFileWriter::append_bytes(std::string_view bytes) {
  file_.append(bytes);
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, BlockChecksums::kBlockBytes - block_bytes_);
    hasher_->update(piece);
    block_bytes_ += piece.size();
    bytes.remove_prefix(piece.size());
    if (block_bytes_ == BlockChecksums::kBlockBytes) end_block();
  }
}

void TokenFileWriter::end_block() {
  hashes_.push_back(hasher_->digest());
  hasher_.emplace();
  block_bytes_ = 0;
}

void TokenFileWriter::commit(std::int64_t text_bytes) {
  if (block_bytes_ > 0) end_block();
  Header header{.magic = {},
                .version = kVersion,
                .id_bits = narrow_ ? 16u : 32u,
                .count = count_,
                .text_bytes = text_bytes,
                .source_hash = source_hash_,
                .tokenizer_hash = tokenizer_hash_,
                .blocks_hash = 0,
                .header_hash = 0};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const std::string_view hashes = bytes_of(std::span<const std::uint64_t>(hashes_));
  header.blocks_hash = hash_bytes(hashes);
  header.header_hash = hash_of(header);
  file_.append(std::string(padding(header), '\0'));
  file_.append(hashes);
  file_.write_at(0, bytes_of(header));
  file_.commit();
}

}  // namespace tapeformer
