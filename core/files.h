// Reads files, and writes files that appear as a whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace tapeformer {

// The system refused to read or write: an error of the disk, a missing permission, too many open files. This does not
// mean that the bytes of a file are damaged. For a missing file, the exception is Error, not IoError.
class IoError : public Error {
 public:
  using Error::Error;
};

// What a path leads to. These functions throw IoError if the system cannot tell, where those of std::filesystem that
// take an error code return false.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);

// The path from the root, without "." and without the folders that ".." leaves. Behind a link, ".." is the folder above
// the link's target, so it stays there.
std::filesystem::path absolute_path(const std::filesystem::path& path);

// The bytes of a whole file. Throws Error when the path is missing or not a regular file, and IoError when the system
// refuses, as all functions of this file do.
std::string read_file(const std::filesystem::path& path);

// A file with random access. Copies share the open file. If the file is truncated while it is open, read_at() throws;
// if another file is renamed over it, the open file stays the same.
class InputFile {
 public:
  // Throws Error as read_file() does.
  explicit InputFile(std::filesystem::path path);

  // The size in bytes at the time of opening.
  std::int64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }
  // Fills `out` with the bytes from `offset` on. Throws Error if the system refuses, and if the file ends before.
  void read_at(std::int64_t offset, std::span<char> out) const;
  // A hint: asks the system to read these bytes from disk in the background, so that a later read_at() finds them in
  // memory. The kernel may ignore it.
  void read_ahead(std::int64_t offset, std::int64_t bytes) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const int> fd_;
  std::int64_t size_ = 0;
};

// A file mapped read-only. Copies share the mapping. The process dies of SIGBUS if the file is truncated while it is
// mapped, so use this only for files that no other program writes, such as a checkpoint's, and InputFile for all
// others. If another file is renamed over it, the mapping stays the same.
class MappedFile {
 public:
  // Throws Error as read_file() does.
  explicit MappedFile(const std::filesystem::path& path);

  std::string_view bytes() const { return {data_.get(), size_}; }

 private:
  std::shared_ptr<const char> data_;
  std::size_t size_ = 0;
};

// Writes all of the bytes to an open file: at its current offset, or at `offset`. Continues after an interrupted or
// partial write(2). Throws Error that names `path` if the system refuses.
void write_all(int fd, std::string_view bytes, const std::filesystem::path& path);
void write_all_at(int fd, std::int64_t offset, std::string_view bytes, const std::filesystem::path& path);

// Writes to a temporary file in the same folder and renames it to `path` on commit(), after fsync: a reader sees the
// old file or the new one, never a part. Without commit() nothing is left behind, unless the process is killed
// (remove_abandoned() cleans up then). The new file has the permissions of the one that it replaces. If `path` is a
// symbolic link, the file that it leads to is replaced, or made if there is none. Throws Error if the system refuses,
// and if `path` is something other than a regular file.
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
  // The path of the file before commit().
  const std::filesystem::path& temporary_path() const { return temporary_path_; }

 private:
  std::filesystem::path path_, temporary_path_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

// Whether the name is that of an AtomicFile's temporary file.
bool is_temporary_file(const std::filesystem::path& path);

// Removes the temporary files in a folder that AtomicFiles of killed processes have left. Files that are still being
// written are kept.
void remove_abandoned(const std::filesystem::path& folder);

// Waits until the bytes of a file, or the names in a folder, are on disk. Does nothing for a folder whose file system
// does not support it. Throws IoError.
void sync_to_disk(const std::filesystem::path& path);

// Replaces the file as AtomicFile does. Throws Error.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace tapeformer
