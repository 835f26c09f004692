// Token ids in a memory-mapped file.
//
// The file, all little-endian: a header of 64 bytes (token_file.cpp); `count` ids of 16 or 32 bits; zeros up to a
// multiple of 8 bytes; and an XXH3 for each 256 KiB of the ids. The header has the hash of those and one of itself, so
// that opening a file of any size takes no time and yet knows that it is whole; a block of ids is checked when the
// first of them is read. So no damaged id is ever used, and nobody waits for all to be read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/files.h"
#include "core/hash.h"

namespace tapeformer {

// The checksums of a token file's ids.
class BlockChecksums {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

  BlockChecksums(std::filesystem::path path, std::string_view ids, std::span<const std::uint64_t> hashes)
      : path_(std::move(path)), ids_(ids), hashes_(hashes), verified_(hashes.size()) {}
  // Checks the blocks with bytes begin to end of the ids that were not checked before. Throws Error for a damaged one.
  void verify(std::size_t begin, std::size_t end) const;

 private:
  std::filesystem::path path_;
  std::string_view ids_;
  std::span<const std::uint64_t> hashes_;
  mutable std::vector<std::atomic<bool>> verified_;
};

// Token ids that lie elsewhere, 16 or 32 bits wide; a cheap value. What it looks at must outlive it.
class TokenView {
 public:
  TokenView() = default;
  TokenView(std::span<const std::uint16_t> ids, const BlockChecksums* checksums = nullptr)
      : ids_(ids), checksums_(checksums) {}
  TokenView(std::span<const std::int32_t> ids, const BlockChecksums* checksums = nullptr)
      : ids_(ids), checksums_(checksums) {}

  std::int64_t size() const {
    return std::visit([](const auto& ids) { return static_cast<std::int64_t>(ids.size()); }, ids_);
  }
  std::int32_t operator[](std::int64_t i) const {
    std::int32_t id = 0;
    copy(i, {&id, 1});
    return id;
  }
  // Ids begin, begin + 1, … fill `out`. Throws Error when they reach past the end, or are damaged.
  void copy(std::int64_t begin, std::span<std::int32_t> out) const;
  // The same ids will be copied soon: where they are on disk, they are read meanwhile.
  void read_ahead(std::int64_t begin, std::int64_t count) const;

 private:
  std::variant<std::span<const std::uint16_t>, std::span<const std::int32_t>> ids_;
  const BlockChecksums* checksums_ = nullptr;
};

// A mapped token file. Copies share the mapping.
class TokenFile {
 public:
  // Checks the header, the size of the file and the checksums' own. Throws Error for a file that is missing, truncated,
  // of another version or none of ours.
  static TokenFile open(const std::filesystem::path& path);

  std::int64_t size() const { return view().size(); }
  void copy(std::int64_t begin, std::span<std::int32_t> out) const { view().copy(begin, out); }
  TokenView view() const;

  int id_bits() const { return id_bits_; }
  // Bytes of the text that the ids stand for; the ends of documents count none.
  std::int64_t text_bytes() const { return text_bytes_; }
  std::uint64_t source_hash() const { return source_hash_; }
  std::uint64_t tokenizer_hash() const { return tokenizer_hash_; }
  const std::filesystem::path& path() const { return path_; }
  // Reads every id: throws Error when a checksum differs.
  void verify() const;

 private:
  TokenFile(const std::filesystem::path& path, MappedFile file) : path_(path), file_(std::move(file)) {}
  std::string_view ids() const;

  std::filesystem::path path_;
  MappedFile file_;
  std::shared_ptr<const BlockChecksums> checksums_;
  int id_bits_ = 0;
  std::int64_t count_ = 0, text_bytes_ = 0;
  std::uint64_t source_hash_ = 0, tokenizer_hash_ = 0;
};

// Writes a token file, which appears on commit(), whole. Throws Error where it cannot be written.
class TokenFileWriter {
 public:
  // 16 bits an id where the vocabulary allows.
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
  std::optional<Hasher> hasher_{std::in_place};  // of the block that is being written
  std::size_t block_bytes_ = 0;                  // of it, so far
  std::vector<std::uint64_t> hashes_;
};

}  // namespace tapeformer
