#include "tests/system_calls.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace {

std::function<int(const std::filesystem::path&)> on_fsync;
std::function<void(const void*, std::size_t)> on_will_need;

}  // namespace

FsyncHook::FsyncHook(std::function<int(const std::filesystem::path&)> called) { on_fsync = std::move(called); }
FsyncHook::~FsyncHook() { on_fsync = nullptr; }
WillNeedHook::WillNeedHook(std::function<void(const void*, std::size_t)> called) { on_will_need = std::move(called); }
WillNeedHook::~WillNeedHook() { on_will_need = nullptr; }

// A program's own functions go before the C library's.
extern "C" int fsync(int fd) {
  if (!on_fsync) return static_cast<int>(::syscall(SYS_fsync, fd));
  errno = on_fsync(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
  return errno == 0 ? 0 : -1;
}

extern "C" int madvise(void* address, std::size_t bytes, int advice) noexcept {
  if (on_will_need && advice == MADV_WILLNEED) on_will_need(address, bytes);
  return static_cast<int>(::syscall(SYS_madvise, address, bytes, advice));
}
