#include "core/memory.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tapeformer {
namespace {

namespace fs = std::filesystem;

// A line "VmHWM:   1234 kB" of /proc/self/status, in bytes; 0 where there is none.
std::int64_t status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return 1024 * std::stoll(line.substr(name.size()));
  }
  return 0;
}

// The least limit of a cgroup and of those that it lies in, as far as they can be seen; `most` if none is lower.
std::int64_t least_limit(const fs::path& mount, const fs::path& group, const char* file, std::int64_t most) {
  fs::path folder = mount;
  const auto read = [&] {
    std::ifstream limit(folder / file);  // "max" is no number
    if (std::int64_t bytes = 0; limit >> bytes && bytes > 0) most = std::min(most, bytes);
  };
  read();
  for (const fs::path& part : group.relative_path()) {
    folder /= part;
    read();
  }
  return most;
}

}  // namespace

std::int64_t resident_bytes() { return status_bytes("VmRSS:"); }

std::int64_t peak_resident_bytes() {
  if (const std::int64_t bytes = status_bytes("VmHWM:")) return bytes;
  // This one may be that of the program that started this process.
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024 * std::int64_t{usage.ru_maxrss} : 0;
}

void reset_peak_resident() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

std::int64_t machine_memory_bytes() {
  std::int64_t bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  // Lines "4:memory:/group" (version 1) and "0::/group" (version 2).
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) bytes = least_limit("/sys/fs/cgroup", group, "memory.max", bytes);
    if (controllers == "memory") bytes = least_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", bytes);
  }
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur < static_cast<rlim_t>(bytes)) {
    bytes = static_cast<std::int64_t>(address_space.rlim_cur);
  }
  return bytes;
}

}  // namespace tapeformer
