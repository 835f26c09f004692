#include "data/text/token_file.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/parallel.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little,
              "token files hold little-endian numbers, which are used as they are read");

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
  std::uint64_t blocks_hash;  // the hash of the hashes of all blocks
  std::uint64_t header_hash;  // the hash of the bytes of the header before it
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

std::int64_t ids_bytes(const Header& header) { return header.count * (header.id_bits / 8); }
std::int64_t block_count(const Header& header) { return chunk_count(ids_bytes(header), StoredIds::kBlockBytes); }
std::int64_t padding(const Header& header) { return -ids_bytes(header) & 7; }

}  // namespace

StoredIds::StoredIds(InputFile file, std::int64_t offset, int id_bits, std::int64_t count,
                     std::vector<std::uint64_t> hashes)
    : file_(std::move(file)),
      offset_(offset),
      id_bits_(id_bits),
      count_(count),
      hashes_(std::move(hashes)),
      verified_(hashes_.size()) {}

void StoredIds::verify(std::int64_t begin, std::int64_t end) const {
  std::string block;
  for (std::int64_t i = begin * id_bytes() / kBlockBytes; i * kBlockBytes < end * id_bytes(); ++i) {
    if (verified_[i].load(std::memory_order_relaxed)) continue;
    block.resize(std::min(kBlockBytes, count_ * id_bytes() - i * kBlockBytes));
    file_.read_at(offset_ + i * kBlockBytes, block);
    check(hash_bytes(block) == hashes_[i], "token file ", file_.path().string(),
          ": damaged: a checksum of its ids differs; the next training makes it again");
    verified_[i].store(true, std::memory_order_relaxed);
  }
}

void StoredIds::copy(std::int64_t begin, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  verify(begin, begin + count);
  // 16-bit ids are read into the second half of the memory and widened from the front: every id is read before it is
  // overwritten.
  char* const memory = reinterpret_cast<char*>(out.data());
  char* const stored = memory + count * (static_cast<std::int64_t>(sizeof(std::int32_t)) - id_bytes());
  file_.read_at(offset_ + begin * id_bytes(), {stored, static_cast<std::size_t>(count * id_bytes())});
  if (id_bits_ == 32) return;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t id = 0;
    std::memcpy(&id, stored + 2 * i, sizeof id);
    out[i] = id;
  }
}

void StoredIds::read_ahead(std::int64_t begin, std::int64_t count) const {
  file_.read_ahead(offset_ + begin * id_bytes(), count * id_bytes());
}

std::int64_t TokenView::size() const {
  if (const auto* const* stored = std::get_if<const StoredIds*>(&ids_)) return (*stored)->size();
  return static_cast<std::int64_t>(std::get<0>(ids_).size());
}

void TokenView::copy(std::int64_t begin, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  check(begin >= 0 && begin + count <= size(), "tokens: ", begin, " to ", begin + count, " is out of range for ",
        size(), " tokens");
  if (const auto* const* stored = std::get_if<const StoredIds*>(&ids_)) return (*stored)->copy(begin, out);
  std::copy_n(std::get<0>(ids_).begin() + begin, count, out.begin());
}

void TokenView::read_ahead(std::int64_t begin, std::int64_t count) const {
  if (const auto* const* stored = std::get_if<const StoredIds*>(&ids_)) (*stored)->read_ahead(begin, count);
}

void for_each_piece(const TokenView& ids, const std::function<void(std::span<const std::int32_t> piece)>& f) {
  constexpr std::int64_t kPiece = 1 << 16;  // ids that are in memory at a time
  std::vector<std::int32_t> piece(std::min(kPiece, ids.size()));
  for (std::int64_t begin = 0; begin < ids.size(); begin += kPiece) {
    const auto some = std::span(piece).first(std::min(kPiece, ids.size() - begin));
    ids.copy(begin, some);
    f(some);
  }
}

TokenFile TokenFile::open(const fs::path& path) {
  const InputFile file(path);
  const std::string where = str_cat("token file ", path.string(), ": ");
  Header header;
  std::string start(std::min<std::int64_t>(file.size(), sizeof header), '\0');
  file.read_at(0, start);
  check(start.starts_with(std::string_view(kMagic, sizeof kMagic)), where, "not a token file");
  check(start.size() == sizeof header, where, "truncated: expected a header of ", sizeof header, " bytes, got ",
        start.size());
  std::memcpy(&header, start.data(), sizeof header);
  check(header.version == kVersion, where, "version ", header.version, ", expected ", kVersion);
  check(header.header_hash == hash_of(header), where, "damaged header: its checksum differs");
  check(header.id_bits == 16 || header.id_bits == 32, where, "ids of ", header.id_bits, " bits, expected 16 or 32");
  // This check keeps the sums below from overflowing.
  check(header.count >= 0 && header.count <= file.size(), where, "a count of ", header.count, " ids in ", file.size(),
        " bytes");
  const auto ids_begin = static_cast<std::int64_t>(sizeof header);
  const std::int64_t blocks_begin = ids_begin + ids_bytes(header) + padding(header);
  std::vector<std::uint64_t> hashes(block_count(header));
  const std::int64_t expected = blocks_begin + static_cast<std::int64_t>(hashes.size() * sizeof(hashes[0]));
  check(file.size() == expected, where, file.size() < expected ? "truncated: " : "", "expected ", expected,
        " bytes for ", header.count, " ids of ", header.id_bits, " bits, got ", file.size());
  file.read_at(blocks_begin, {reinterpret_cast<char*>(hashes.data()), hashes.size() * sizeof(hashes[0])});
  check(hash_bytes(bytes_of(std::span<const std::uint64_t>(hashes))) == header.blocks_hash, where,
        "damaged: the checksum of its checksums differs");
  TokenFile opened;
  opened.path_ = path;
  opened.text_bytes_ = header.text_bytes;
  opened.source_hash_ = header.source_hash;
  opened.tokenizer_hash_ = header.tokenizer_hash;
  opened.ids_ = std::make_shared<const StoredIds>(file, ids_begin, static_cast<int>(header.id_bits), header.count,
                                                  std::move(hashes));
  return opened;
}

TokenFileWriter::TokenFileWriter(const fs::path& path, std::int64_t vocab_size, std::uint64_t source_hash,
                                 std::uint64_t tokenizer_hash)
    : file_(path),
      source_hash_(source_hash),
      tokenizer_hash_(tokenizer_hash),
      narrow_(vocab_size <= std::numeric_limits<std::uint16_t>::max() + 1) {
  file_.append(bytes_of(Header{}));  // reserves the place of the header, which commit() writes
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
    const std::string_view piece = bytes.substr(0, static_cast<std::size_t>(StoredIds::kBlockBytes - block_bytes_));
    hasher_->update(piece);
    block_bytes_ += static_cast<std::int64_t>(piece.size());
    bytes.remove_prefix(piece.size());
    if (block_bytes_ == StoredIds::kBlockBytes) end_block();
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
