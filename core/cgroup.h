// The limits that Linux sets to a group of processes (a container, a systemd unit).
#pragma once

#include <cstdint>
#include <filesystem>

namespace tapeformer {

// Both look at the group of this process and at those that it lies in, as far as they can be seen. `root` stands in the
// place of "/" in tests.

// The processors that the groups may use at once, a part of one counted as one; 0 where there is no limit.
int cgroup_processors(const std::filesystem::path& root = "/");
// The bytes that the groups may hold; `most` where no limit is lower.
std::int64_t cgroup_memory_bytes(std::int64_t most, const std::filesystem::path& root = "/");

}  // namespace tapeformer
