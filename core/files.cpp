#include "core/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace tapeformer {

namespace {

// The name of a temporary file has this between the file's name and the writer's number.
constexpr const char* kTemporary = ".tmp-";

// If the system call has failed, throws "cannot VERB PATH: reason".
void check_call(bool succeeded, const char* verb, const std::filesystem::path& path) {
  if (succeeded) return;
  const int error = errno;
  const std::string message =
      str_cat("cannot ", verb, " ", path.string(), ": ", std::generic_category().message(error));
  if (error == ENOENT || error == ENOTDIR) throw Error(message);  // there is no such file
  throw IoError(message);
}

std::filesystem::file_type type_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::none) {
    throw IoError(str_cat("cannot look at ", path.string(), ": ", error.message()));
  }
  return type;
}

void check_is_file(const struct stat& status, const std::filesystem::path& path) {
  check(!S_ISDIR(status.st_mode), path.string(), " is a folder, expected a file");
  check(S_ISREG(status.st_mode), path.string(), " is not a regular file");
}

// If the path is a symbolic link, returns the path that it leads to, whether or not there is a file; else the path.
std::filesystem::path target_of(std::filesystem::path path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (!error) return std::filesystem::is_symlink(path, error) ? target : path;
  constexpr int kMostLinks = 40;  // as many as the system follows
  for (int i = 0; i < kMostLinks && !std::filesystem::exists(path, error); ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;
  }
  return path;
}

// Closes the file at the end of the scope.
struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

// Opens a regular file for reading, and sets its size.
int open_to_read(const std::filesystem::path& path, std::int64_t& size) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check_call(fd >= 0, "open", path);
  try {
    struct stat status {};
    check_call(::fstat(fd, &status) == 0, "open", path);
    check_is_file(status, path);
    size = status.st_size;
  } catch (...) {
    ::close(fd);
    throw;
  }
  return fd;
}

}  // namespace

bool is_there(const std::filesystem::path& path) { return type_of(path) != std::filesystem::file_type::not_found; }
bool is_folder(const std::filesystem::path& path) { return type_of(path) == std::filesystem::file_type::directory; }
bool is_file(const std::filesystem::path& path) { return type_of(path) == std::filesystem::file_type::regular; }

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::filesystem::path shorter;
  std::error_code unreachable;
  for (const std::filesystem::path& part : std::filesystem::absolute(path)) {
    if (part == ".") continue;
    const bool leaves_folder =
        part == ".." && shorter.filename() != ".." &&
        std::filesystem::symlink_status(shorter, unreachable).type() == std::filesystem::file_type::directory;
    shorter = leaves_folder ? shorter.parent_path() : shorter / part;
  }
  return shorter;
}

std::string read_file(const std::filesystem::path& path) {
  const InputFile file(path);
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, bytes);
  return bytes;
}

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  fd_ = {new int(open_to_read(path_, size_)), [](const int* fd) {
           ::close(*fd);
           delete fd;
         }};
}

void InputFile::read_at(std::int64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(*fd_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    check_call(got >= 0, "read", path_);
    check(got > 0, "cannot read ", path_.string(), ": the file was cut short: expected ", size_, " bytes, got ",
          offset);
    out = out.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

void InputFile::read_ahead(std::int64_t offset, std::int64_t bytes) const {
  ::posix_fadvise(*fd_, offset, bytes, POSIX_FADV_WILLNEED);
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  std::int64_t size = 0;
  const OpenFile file{open_to_read(path, size)};
  size_ = static_cast<std::size_t>(size);
  if (size_ == 0) return;  // the system cannot map an empty file
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  check_call(mapped != MAP_FAILED, "map", path);
  data_ = std::shared_ptr<const char>(static_cast<const char*>(mapped),
                                      [mapped, size = size_](const char*) { ::munmap(mapped, size); });
}

void write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    check_call(written >= 0, "write", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_all_at(int fd, std::int64_t offset, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    check_call(written >= 0, "write", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += written;
  }
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(target_of(std::move(path))) {
  // A rename would replace a device, such as /dev/null, by a file, if the user has the right to do so.
  struct stat there {};
  const bool replaces = ::stat(path_.c_str(), &there) == 0;
  if (replaces) check_is_file(there, path_);
  static std::atomic<int> counter = 0;
  // The lock tells remove_abandoned() that the file is being written. If that function has removed the file before it
  // was locked, the file has no name (no link) any more, and another one is made.
  struct stat status {};
  while (status.st_nlink == 0) {
    if (fd_ >= 0) ::close(fd_);
    // Two writers of the same path need two temporary files. In two containers they may have the same process id.
    do {
      temporary_path_ = path_;
      temporary_path_ += str_cat(kTemporary, ::getpid(), "-", counter++);
      fd_ = ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EEXIST);
    check_call(fd_ >= 0, "write", path_);
    ::flock(fd_, LOCK_EX);
    check_call(::fstat(fd_, &status) == 0, "write", path_);
  }
  // Not every file system has permissions, and what has none needs none.
  if (replaces) static_cast<void>(::fchmod(fd_, there.st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_path_.c_str());
}

void AtomicFile::append(std::string_view bytes) {
  write_all_at(fd_, size_, bytes, path_);
  size_ += static_cast<std::int64_t>(bytes.size());
}

void AtomicFile::write_at(std::int64_t offset, std::string_view bytes) { write_all_at(fd_, offset, bytes, path_); }

void AtomicFile::commit() {
  check_call(::fsync(fd_) == 0, "write", path_);
  check_call(::rename(temporary_path_.c_str(), path_.c_str()) == 0, "write", path_);
  ::close(fd_);
  fd_ = -1;
  sync_to_disk(path_.has_parent_path() ? path_.parent_path() : ".");  // the new name must survive a crash too
}

void sync_to_disk(const std::filesystem::path& path) {
  const OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0 && errno == EACCES && is_folder(path)) return;  // a folder that the user may write to, but not list
  check_call(file.fd >= 0, "open", path);
  // These errors mean that the file system has no fsync for folders.
  constexpr int kUnsupported[] = {EINVAL, ENOTSUP, ENOSYS, EBADF};
  if (::fsync(file.fd) == 0 || std::ranges::count(kUnsupported, errno) > 0) return;
  throw IoError(str_cat("cannot write ", path.string(), " to disk: ", std::generic_category().message(errno)));
}

bool is_temporary_file(const std::filesystem::path& path) {
  return path.filename().native().find(kTemporary) != std::string::npos;
}

void remove_abandoned(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!is_temporary_file(entry.path())) continue;
    const OpenFile file{::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (file.fd >= 0 && ::flock(file.fd, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.append(bytes);
  file.commit();
}

}  // namespace tapeformer
