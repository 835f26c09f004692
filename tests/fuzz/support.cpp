#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "targets.h"

namespace tapeformer::fuzz {

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

MemoryFile::MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", 0)) {
  require(fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "memfd");
}

MemoryFile::~MemoryFile() { ::close(fd_); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

}  // namespace tapeformer::fuzz
