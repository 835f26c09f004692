// The limits that Linux sets to a group of processes (a container, a systemd unit).
#pragma once

#include <filesystem>
#include <functional>

namespace tapeformer {

enum class CgroupVersion { v1, v2 };

// Calls f(folder, version) for the folder of each group that limits this process with regard to a controller ("cpu",
// "memory"): its own and those that it lies in, the outermost first, as far as they can be seen. `root` stands in the
// place of "/" in tests.
void for_each_cgroup(const char* controller,
                     const std::function<void(const std::filesystem::path& folder, CgroupVersion version)>& f,
                     const std::filesystem::path& root = "/");

// The processors that these groups may use at once, a part of one counted as one; 0 where there is no limit.
int cgroup_processors(const std::filesystem::path& root = "/");
// The bytes that they may hold, at most `most`.
std::int64_t cgroup_memory_bytes(std::int64_t most, const std::filesystem::path& root = "/");

}  // namespace tapeformer
