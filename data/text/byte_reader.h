// The bytes of a file from the first to the last, decompressed on the way, in constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace tapeformer {

// Stands for standard input where a file is named.
inline constexpr const char* kStandardInput = "-";

class ByteReader {
 public:
  virtual ~ByteReader() = default;
  // The next bytes, as many as come at once, and their number; 0 at the end. Throws Error naming the file where the
  // system refuses, and for compressed data that is damaged or ends too soon.
  virtual std::size_t read(std::span<char> out) = 0;
  // Bytes of the file itself that were read so far: compressed ones, where it is compressed.
  virtual std::int64_t consumed() const = 0;
};

// By the end of the name: .gz is gzip, .zst is Zstandard (both may be several streams, one after another), everything
// else and standard input are taken as they are. Throws Error when the path is missing, unreadable or no regular file.
std::unique_ptr<ByteReader> open_bytes(const std::filesystem::path& path);

}  // namespace tapeformer
