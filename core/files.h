// Files read through the page cache, and files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tapeformer {

// A file mapped read-only. Copies share the mapping. The file must not be cut short while it is mapped; a file renamed
// over it does no harm.
class MappedFile {
 public:
  // Throws Error when the path is missing, unreadable or no regular file.
  explicit MappedFile(const std::filesystem::path& path);

  std::string_view bytes() const { return {data_.get(), size_}; }

 private:
  std::shared_ptr<const char> data_;
  std::size_t size_ = 0;
};

// The bytes of a whole file. Throws Error when the path is missing, unreadable or not a regular file.
std::string read_file(const std::filesystem::path& path);

// A file that is read at any place. Copies share the open file. If the file gets shorter while it is open, read_at()
// throws; a file that is renamed over it changes nothing.
class InputFile {
 public:
  // Throws Error as read_file() does.
  explicit InputFile(std::filesystem::path path);

  // The size in bytes when the file was opened.
  std::int64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }
  // Fills `out` with the bytes from `offset` on. Throws Error where the system refuses, and when the file ends before.
  void read_at(std::int64_t offset, std::span<char> out) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const int> fd_;
  std::int64_t size_ = 0;
};

// Asks the system to read a part of a mapped file from disk, and does not wait: whoever needs these bytes later finds
// them in memory. No more than a wish; on other memory it does nothing.
void read_ahead(std::string_view mapped);

// Writes beside `path` and renames into place on commit(), after fsync: a reader sees the old file or the new one,
// never a part. Without commit() nothing stays behind, but for what a killed process leaves (remove_abandoned()).
// A symbolic link stays one: the file it leads to is written. Throws Error where the system refuses, and where
// something other than a file has the path.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::string_view bytes);
  // Overwrites bytes that were appended before.
  void write_at(std::int64_t offset, std::string_view bytes);
  void commit();
  // Where the bytes lie until then.
  const std::filesystem::path& beside() const { return beside_; }

 private:
  void write_all(std::int64_t offset, std::string_view bytes);

  std::filesystem::path path_, beside_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

// Removes the files in a folder that an AtomicFile wrote whose process was killed; those still being written stay.
void remove_abandoned(const std::filesystem::path& folder);

// Written beside, fsynced, renamed into place: a reader sees the old bytes or the new ones. Throws Error.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace tapeformer
