#include "core/memory.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "core/cgroup.h"

namespace tapeformer {
namespace {

// The value of a line "VmHWM:   1234 kB" in /proc/self/status, in bytes; 0 if there is no such line.
std::int64_t status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return 1024 * std::stoll(line.substr(name.size()));
  }
  return 0;
}

}  // namespace

std::int64_t resident_bytes() { return status_bytes("VmRSS:"); }

std::int64_t address_space_bytes() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGE_SIZE);
}

std::int64_t peak_resident_bytes() {
  if (const std::int64_t bytes = status_bytes("VmHWM:")) return bytes;
  // This peak may include that of the program that started this process.
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024 * std::int64_t{usage.ru_maxrss} : 0;
}

void reset_peak_resident() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

std::int64_t machine_memory_bytes() {
  std::int64_t bytes = cgroup_memory_bytes(std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE));
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur < static_cast<rlim_t>(bytes)) {
    bytes = static_cast<std::int64_t>(address_space.rlim_cur);
  }
  return bytes;
}

}  // namespace tapeformer
