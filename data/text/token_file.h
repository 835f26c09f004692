// A file of token ids.
//
// The format, all little-endian: a header of 64 bytes (token_file.cpp); `count` ids of 16 or 32 bits; zeros up to a
// multiple of 8 bytes; and one XXH3 for each block of 256 KiB of the ids. The header has the hash of those hashes and a
// hash of itself, so opening a file of any size is quick and still verifies them. A block of ids is verified when it is
// first read: so a damaged id is never used, and opening the file need not read all ids.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/files.h"
#include "core/hash.h"

namespace tapeformer {

// The ids of an open token file.
class StoredIds {
 public:
  static constexpr std::int64_t kBlockBytes = std::int64_t{256} << 10;

  // `hashes` has the XXH3 of each block of the ids, which begin at byte `offset` of the file.
  StoredIds(InputFile file, std::int64_t offset, int id_bits, std::int64_t count, std::vector<std::uint64_t> hashes);

  std::int64_t size() const { return count_; }
  int id_bits() const { return id_bits_; }
  // Reads the ids begin, begin + 1, … into `out`. Throws Error for a damaged block, and when the file was cut short.
  void copy(std::int64_t begin, std::span<std::int32_t> out) const;
  void read_ahead(std::int64_t begin, std::int64_t count) const;
  // Checks the blocks of the ids from begin to end that were not checked before. Throws Error for a damaged one.
  void verify(std::int64_t begin, std::int64_t end) const;

 private:
  std::int64_t id_bytes() const { return id_bits_ / 8; }

  InputFile file_;
  std::int64_t offset_;
  int id_bits_;
  std::int64_t count_;
  std::vector<std::uint64_t> hashes_;
  mutable std::vector<std::atomic<bool>> verified_;  // indexed by block
};

// A view of token ids in memory or in a token file; cheap to copy. The ids must outlive it.
class TokenView {
 public:
  TokenView() = default;
  TokenView(std::span<const std::int32_t> ids) : ids_(ids) {}
  explicit TokenView(const StoredIds& ids) : ids_(&ids) {}

  std::int64_t size() const;
  std::int32_t operator[](std::int64_t i) const {
    std::int32_t id = 0;
    copy(i, {&id, 1});
    return id;
  }
  // Copies the ids begin, begin + 1, … to `out`. Throws Error when they reach past the end, and as StoredIds does.
  void copy(std::int64_t begin, std::span<std::int32_t> out) const;
  // A hint that these ids will be copied soon: if they are on disk, the system reads them in the background.
  void read_ahead(std::int64_t begin, std::int64_t count) const;

 private:
  std::variant<std::span<const std::int32_t>, const StoredIds*> ids_;
};

// Calls f with all ids in order, some at a time.
void for_each_piece(const TokenView& ids, const std::function<void(std::span<const std::int32_t> piece)>& f);

// An open token file. Copies share it.
class TokenFile {
 public:
  // Checks the header, the size of the file and the hash of the hashes. Throws Error for a file that is missing,
  // truncated, of another version, or not a token file.
  static TokenFile open(const std::filesystem::path& path);

  std::int64_t size() const { return ids_->size(); }
  void copy(std::int64_t begin, std::span<std::int32_t> out) const { view().copy(begin, out); }
  TokenView view() const { return TokenView(*ids_); }

  int id_bits() const { return ids_->id_bits(); }
  // The number of bytes of the text that the ids encode; the ends of documents count as none.
  std::int64_t text_bytes() const { return text_bytes_; }
  std::uint64_t source_hash() const { return source_hash_; }
  std::uint64_t tokenizer_hash() const { return tokenizer_hash_; }
  const std::filesystem::path& path() const { return path_; }
  // Reads every id. Throws Error when a hash differs.
  void verify() const { ids_->verify(0, size()); }

 private:
  TokenFile() = default;

  std::filesystem::path path_;
  std::shared_ptr<const StoredIds> ids_;
  std::int64_t text_bytes_ = 0;
  std::uint64_t source_hash_ = 0, tokenizer_hash_ = 0;
};

// Writes a token file, which appears as a whole on commit(). Throws Error if it cannot be written.
class TokenFileWriter {
 public:
  // Stores 16-bit ids if the vocabulary is small enough.
  TokenFileWriter(const std::filesystem::path& path, std::int64_t vocab_size, std::uint64_t source_hash,
                  std::uint64_t tokenizer_hash);
  void append(std::span<const std::int32_t> ids);
  void commit(std::int64_t text_bytes);

 private:
  void append_bytes(std::string_view bytes);
  void end_block();

  AtomicFile file_;
  std::uint64_t source_hash_, tokenizer_hash_;
  bool narrow_;
  std::int64_t count_ = 0;
  std::vector<std::uint16_t> narrow_ids_;
  std::optional<Hasher> hasher_{std::in_place};  // hash of the current block
  std::int64_t block_bytes_ = 0;                 // bytes of the current block that are written
  std::vector<std::uint64_t> hashes_;
};

}  // namespace tapeformer
