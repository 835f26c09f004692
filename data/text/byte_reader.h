// The bytes of a file from the first to the last, decompressed while they are read, in constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "data/text/text_notes.h"

namespace tapeformer {

// Stands for standard input where a file is named.
inline constexpr const char* kStandardInput = "-";

// Whether what the path names can be read only once: standard input, or a pipe such as a shell's <(command).
bool is_read_once(const std::filesystem::path& path);

enum class Compression { none, gzip, zstandard };

// By the end of the name: .gz is gzip, .zst is Zstandard. Standard input is taken as it is.
Compression compression_of(const std::filesystem::path& path);
// The name without the end that says how it is compressed: a.jsonl.gz becomes a.jsonl.
std::filesystem::path uncompressed_name(const std::filesystem::path& path);

// Called while a read waits for its input. What it throws ends the read.
using WaitingCallback = std::function<void()>;

class ByteReader {
 public:
  virtual ~ByteReader() = default;
  // Reads the bytes that come next, as many as are there at once, and returns their number, or 0 at the end. Throws
  // Error naming the file where the system refuses, and for compressed data that is damaged or ends too soon.
  virtual std::size_t read(std::span<char> out) = 0;
  // How many bytes of the file itself were read so far: compressed ones if it is compressed.
  virtual std::int64_t consumed() const = 0;
  // Whether bytes 0 after the end of the compressed data were skipped, as gzip does.
  virtual bool skipped_zeros() const { return false; }
};

// A compressed file may have several streams, one after another. Throws Error when the path is missing, unreadable or
// neither a regular file nor a pipe. While a read waits for a pipe, it calls `waiting` ten times a second.
std::unique_ptr<ByteReader> open_bytes(const std::filesystem::path& path, WaitingCallback waiting = {});

// The bytes of a text file: those of open_bytes() without a UTF-8 byte order mark at the beginning. Adds what is odd
// about the file to `notes`, which must outlive this object.
class TextBytes {
 public:
  TextBytes(const std::filesystem::path& path, TextNotes& notes);
  // As ByteReader.
  std::size_t read(std::span<char> out);
  std::int64_t consumed() const { return bytes_->consumed(); }

 private:
  std::size_t read_first(std::span<char> out);

  std::string name_;
  TextNotes& notes_;
  std::unique_ptr<ByteReader> bytes_;
  bool started_ = false, ended_ = false;
};

}  // namespace tapeformer
