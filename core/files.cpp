#include "core/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "core/error.h"

namespace tapeformer {

namespace {

constexpr const char* kBeside = ".tmp-";  // between a file's name and what sets its writers apart

// Throws what the system said about the call that just failed: "cannot VERB PATH: reason".
void require(bool succeeded, const char* verb, const std::filesystem::path& path) {
  if (!succeeded) fail("cannot ", verb, " ", path.string(), ": ", std::generic_category().message(errno));
}

void check_is_file(const struct stat& status, const std::filesystem::path& path) {
  check(!S_ISDIR(status.st_mode), path.string(), " is a folder, expected a file");
  check(S_ISREG(status.st_mode), path.string(), " is not a regular file");
}

// Closes on leaving the scope.
struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  require(file.fd >= 0, "open", path);
  struct stat status {};
  require(::fstat(file.fd, &status) == 0, "open", path);
  check_is_file(status, path);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // the system maps no empty files
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  require(mapped != MAP_FAILED, "map", path);
  data_ = std::shared_ptr<const char>(static_cast<const char*>(mapped),
                                      [mapped, size = size_](const char*) { ::munmap(mapped, size); });
}

std::string read_file(const std::filesystem::path& path) {
  const InputFile file(path);
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, bytes);
  return bytes;
}

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  require(fd >= 0, "open", path_);
  fd_ = {new int(fd), [](const int* open_fd) {
           ::close(*open_fd);
           delete open_fd;
         }};
  struct stat status {};
  require(::fstat(fd, &status) == 0, "open", path_);
  check_is_file(status, path_);
  size_ = status.st_size;
}

void InputFile::read_at(std::int64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(*fd_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, "read", path_);
    check(got > 0, "cannot read ", path_.string(), ": the file was cut short: expected ", size_, " bytes, got ",
          offset);
    out = out.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

void read_ahead(std::string_view mapped) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped.data());
  const std::uintptr_t first_page = begin / page * page;  // the system takes whole pages
  ::madvise(reinterpret_cast<void*>(first_page), begin + mapped.size() - first_page, MADV_WILLNEED);
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  // A link stays, and what it leads to is written.
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path_, error);
  if (!error && std::filesystem::is_symlink(path_, error)) path_ = target;
  // A rename would put a file in the place of a device, /dev/null for one, where the user may do that.
  struct stat there {};
  if (::stat(path_.c_str(), &there) == 0) check_is_file(there, path_);
  // Two writers of one path, in this process or in two, must not share the file beside.
  static std::atomic<int> counter = 0;
  beside_ = path_;
  beside_ += str_cat(kBeside, ::getpid(), "-", counter++);
  // Locked while it is written, by which remove_abandoned() knows; which may have been faster than the lock.
  struct stat status {};
  while (status.st_nlink == 0) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    require(fd_ >= 0, "write", path_);
    ::flock(fd_, LOCK_EX);
    require(::fstat(fd_, &status) == 0, "write", path_);
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(beside_.c_str());
}

void AtomicFile::append(std::string_view bytes) {
  write_all(size_, bytes);
  size_ += static_cast<std::int64_t>(bytes.size());
}

void AtomicFile::write_at(std::int64_t offset, std::string_view bytes) { write_all(offset, bytes); }

void AtomicFile::write_all(std::int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    require(written >= 0, "write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += written;
  }
}

void AtomicFile::commit() {
  require(::fsync(fd_) == 0, "write", path_);
  require(::rename(beside_.c_str(), path_.c_str()) == 0, "write", path_);
  ::close(fd_);
  fd_ = -1;
  // The new name itself must survive a crash too; some file systems know no fsync of a folder, so its answer is not
  // asked.
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const OpenFile entry{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (entry.fd >= 0) ::fsync(entry.fd);
}

void remove_abandoned(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().filename().native().find(kBeside) == std::string::npos) continue;
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
