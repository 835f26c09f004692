// The limits that Linux sets for a group of processes (a container, a systemd unit).
#pragma once

#include <cstdint>
#include <filesystem>

namespace tapeformer {

// Both functions consider the group of this process and the groups that contain it, as far as they are visible. `root`
// replaces "/" in tests.

// The number of processors that the groups may use at once, rounded up; 0 if there is no limit.
int cgroup_processors(const std::filesystem::path& root = "/");
// The bytes of memory that the groups may use; `most` if no limit is lower.
std::int64_t cgroup_memory_bytes(std::int64_t most, const std::filesystem::path& root = "/");

}  // namespace tapeformer
