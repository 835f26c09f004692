#include "core/cgroup.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>

#include "core/error.h"

namespace tapeformer {
namespace {

namespace fs = std::filesystem;

enum class CgroupVersion { v1, v2 };

// Calls f(folder, version) for the folder of each group that limits a controller ("cpu", "memory"), the outermost group
// first.
void for_each_cgroup(const char* controller, const std::function<void(const fs::path&, CgroupVersion)>& f,
                     const fs::path& root) {
  const auto visit = [&](fs::path folder, const fs::path& group, CgroupVersion version) {
    f(folder, version);
    for (const fs::path& part : group.relative_path()) f(folder /= part, version);
  };
  // The lines are "4:cpu,cpuacct:/group" (version 1) and "0::/group" (version 2).
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = str_cat(',', line.substr(first + 1, second - first - 1), ',');
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") visit(mount, group, CgroupVersion::v2);
    if (controllers.find(str_cat(',', controller, ',')) != controllers.npos) {
      visit(mount / controller, group, CgroupVersion::v1);
    }
  }
}

}  // namespace

int cgroup_processors(const fs::path& root) {
  int processors = 0;
  for_each_cgroup(
      "cpu",
      [&](const fs::path& folder, CgroupVersion version) {
        // The quota is in microseconds of all processors together in each period; "max" is not a number.
        const bool v2 = version == CgroupVersion::v2;
        std::ifstream quotas(folder / (v2 ? "cpu.max" : "cpu.cfs_quota_us")), periods(folder / "cpu.cfs_period_us");
        double quota = 0, period = 0;
        if (!(quotas >> quota) || !((v2 ? quotas : periods) >> period)) return;
        if (quota <= 0 || period <= 0) return;
        const int here = static_cast<int>(std::ceil(quota / period));
        processors = processors == 0 ? here : std::min(processors, here);
      },
      root);
  return processors;
}

std::int64_t cgroup_memory_bytes(std::int64_t most, const fs::path& root) {
  for_each_cgroup(
      "memory",
      [&](const fs::path& folder, CgroupVersion version) {
        std::ifstream limit(folder / (version == CgroupVersion::v2 ? "memory.max" : "memory.limit_in_bytes"));
        if (std::int64_t bytes = 0; limit >> bytes && bytes > 0) most = std::min(most, bytes);  // "max" is not a number
      },
      root);
  return most;
}

}  // namespace tapeformer
