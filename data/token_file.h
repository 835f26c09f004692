// Token ids in a memory-mapped file, built once and reused while the text and the tokenizer are unchanged.
//
// The file, all little-endian: a header of 64 bytes (token_file.cpp), then `count` ids of 16 or 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "autograd/core/files.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// Token ids that lie elsewhere, 16 or 32 bits wide; a cheap value. What it looks at must outlive it.
class TokenView {
 public:
  TokenView() = default;
  TokenView(std::span<const std::uint16_t> ids) : ids_(ids) {}
  TokenView(std::span<const std::int32_t> ids) : ids_(ids) {}

  std::int64_t size() const {
    return std::visit([](const auto& ids) { return static_cast<std::int64_t>(ids.size()); }, ids_);
  }
  std::int32_t operator[](std::int64_t i) const {
    return std::visit([i](const auto& ids) { return static_cast<std::int32_t>(ids[i]); }, ids_);
  }
  // Ids begin, begin + 1, … fill `out`. Throws Error when they reach past the end.
  void copy(std::int64_t begin, std::span<std::int32_t> out) const;
  // The same ids will be copied soon: where they are on disk, they are read meanwhile.
  void read_ahead(std::int64_t begin, std::int64_t count) const;

 private:
  std::variant<std::span<const std::uint16_t>, std::span<const std::int32_t>> ids_;
};

// A mapped token file. Copies share the mapping.
class TokenFile {
 public:
  // Checks the header and the size of the file. Throws Error for a file that is missing, truncated, of another version
  // or none of ours.
  static TokenFile open(const std::filesystem::path& path);

  std::int64_t size() const { return view().size(); }
  std::int32_t operator[](std::int64_t i) const { return view()[i]; }
  void copy(std::int64_t begin, std::span<std::int32_t> out) const { view().copy(begin, out); }
  TokenView view() const;

  int id_bits() const { return id_bits_; }
  // Bytes of the text that the ids stand for.
  std::int64_t text_bytes() const { return text_bytes_; }
  std::uint64_t source_hash() const { return source_hash_; }
  std::uint64_t tokenizer_hash() const { return tokenizer_hash_; }
  const std::filesystem::path& path() const { return path_; }
  // Reads every id: throws Error when the checksum differs from the header's.
  void verify() const;

 private:
  TokenFile(const std::filesystem::path& path, MappedFile file) : path_(path), file_(std::move(file)) {}
  std::string_view payload() const;

  std::filesystem::path path_;
  MappedFile file_;
  int id_bits_ = 0;
  std::int64_t count_ = 0, text_bytes_ = 0;
  std::uint64_t source_hash_ = 0, tokenizer_hash_ = 0, payload_hash_ = 0;
};

// Of a text in pieces: other bytes or other bounds between pieces give another hash.
std::uint64_t source_hash(std::span<const std::string_view> pieces);

// Encodes each piece by itself, in parts that end at safe cuts (pretokenizer.h; memory stays small), 16 bits an id where the vocabulary
// allows. The file appears whole or not at all. Throws Error where it cannot be written.
void build_token_file(const std::filesystem::path& path, std::span<const std::string_view> pieces,
                      const Tokenizer& tokenizer);

// The token file of this text and tokenizer in `folder` (made where missing): an existing one when its hashes and its
// checksum agree, else built now. Named NAME-<hash of text>-<hash of tokenizer>.tokens.
TokenFile cached_token_file(const std::filesystem::path& folder, std::string_view name,
                            std::span<const std::string_view> pieces, const Tokenizer& tokenizer);

}  // namespace tapeformer
