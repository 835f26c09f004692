#include "tests/system_calls.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <string>

namespace {

std::function<int(const std::filesystem::path&)> on_fsync, on_read;
std::function<void(std::int64_t, std::int64_t)> on_will_need;

rlimit old_limit;
std::size_t old_stack_bytes = 0;
void (*old_handler)(int);

// Sets the size of the stacks of new threads, and returns the size before.
std::size_t set_stack_bytes(std::size_t bytes) {
  pthread_attr_t attributes;
  std::size_t before = 0;
  ::pthread_getattr_default_np(&attributes);
  ::pthread_attr_getstacksize(&attributes, &before);
  ::pthread_attr_setstacksize(&attributes, bytes);
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
  return before;
}

std::filesystem::path path_of(int fd) { return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)); }

}  // namespace

FsyncHook::FsyncHook(std::function<int(const std::filesystem::path&)> called) { on_fsync = std::move(called); }
FsyncHook::~FsyncHook() { on_fsync = nullptr; }

ReadHook::ReadHook(std::function<int(const std::filesystem::path&)> called) { on_read = std::move(called); }
ReadHook::~ReadHook() { on_read = nullptr; }

FileSizeLimit::FileSizeLimit(std::uint64_t bytes) {
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{bytes, old_limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
}
FileSizeLimit::~FileSizeLimit() {
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  ::signal(SIGXFSZ, old_handler);
}

NoThreads::NoThreads() { old_stack_bytes = set_stack_bytes(std::size_t{1} << 47); }
NoThreads::~NoThreads() { set_stack_bytes(old_stack_bytes); }

WillNeedHook::WillNeedHook(std::function<void(std::int64_t, std::int64_t)> called) { on_will_need = std::move(called); }
WillNeedHook::~WillNeedHook() { on_will_need = nullptr; }

// A program's own functions go before the C library's.
extern "C" int fsync(int fd) {
  if (!on_fsync) return static_cast<int>(::syscall(SYS_fsync, fd));
  errno = on_fsync(path_of(fd));
  return errno == 0 ? 0 : -1;
}

extern "C" int open(const char* path, int flags, ...) {
  if (on_read && (errno = on_read(path)) != 0) return -1;
  va_list more;
  va_start(more, flags);
  const auto mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

extern "C" ssize_t pread(int fd, void* out, size_t bytes, off_t offset) {
  if (on_read && (errno = on_read(path_of(fd))) != 0) return -1;
  return ::syscall(SYS_pread64, fd, out, bytes, offset);
}

extern "C" int posix_fadvise(int fd, off_t offset, off_t bytes, int advice) noexcept {
  if (on_will_need && advice == POSIX_FADV_WILLNEED) on_will_need(offset, bytes);
  return static_cast<int>(::syscall(SYS_fadvise64, fd, offset, bytes, advice));
}
