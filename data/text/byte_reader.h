// Reads the bytes of a file in order, decompressing them, in constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "data/text/text_notes.h"

namespace tapeformer {

// This path means standard input.
inline constexpr const char* kStandardInput = "-";

// What messages call a file.
std::string shown_name(const std::filesystem::path& path);

// Whether the path can be read only once: standard input, or a pipe such as a shell's <(command).
bool is_read_once(const std::filesystem::path& path);

enum class Compression { none, gzip, zstandard };

// The compression, from the end of the name: .gz is gzip, .zst is Zstandard, in small or capital letters. Standard
// input is not decompressed.
Compression compression_of(const std::filesystem::path& path);
// The name without the ending of the compression: a.jsonl.gz becomes a.jsonl.
std::filesystem::path uncompressed_name(const std::filesystem::path& path);
// Whether the name says that each line is an object of JSON: .jsonl or .ndjson, also before .gz and .zst, in small or
// capital letters.
bool is_json_lines(const std::filesystem::path& path);

// Called while a read waits for its input. If it throws, the read ends with that exception.
using WaitingCallback = std::function<void()>;

class ByteReader {
 public:
  virtual ~ByteReader() = default;
  // Reads the next bytes, as many as are available at once, and returns their number, or 0 at the end. Throws Error
  // naming the file where the system refuses, and for compressed data that is damaged or ends too soon.
  virtual std::size_t read(std::span<char> out) = 0;
  // The number of bytes of the file that were read so far: compressed bytes if the file is compressed.
  virtual std::int64_t consumed() const = 0;
  // Whether bytes 0 after the end of the compressed data were skipped, as gzip does.
  virtual bool skipped_zeros() const { return false; }
};

// Opens a file. A compressed file may consist of several streams. Throws Error when the path is missing, unreadable or
// neither a regular file nor a pipe. While a read waits for a pipe, it calls `waiting` ten times a second.
std::unique_ptr<ByteReader> open_bytes(const std::filesystem::path& path, WaitingCallback waiting = {});

// The bytes of a text file: those of open_bytes() without a UTF-8 byte order mark at the beginning. Adds the problems
// of the file to `notes`, which must outlive this object.
class TextBytes {
 public:
  // `name` is what the notes call the file; empty: its path.
  TextBytes(const std::filesystem::path& path, TextNotes& notes, const std::filesystem::path& name = {});
  // Both functions are like those of ByteReader.
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
