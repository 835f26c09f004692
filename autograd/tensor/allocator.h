// A caching allocator for tensor storage: freed blocks are kept by size class and handed out again, so that a loop of
// fixed shapes asks the system for memory in its first step only.
#pragma once

#include <cstdint>

namespace tapeformer {

struct MemoryStats {
  std::int64_t in_use = 0;           // bytes held by live tensors, rounded up to their size classes
  std::int64_t peak = 0;             // the most that in_use has been since reset_peak_memory()
  std::int64_t reserved = 0;         // bytes held from the system: in use and cached
  std::int64_t system_requests = 0;  // how often the system was asked for memory
};

MemoryStats memory_stats();
void reset_peak_memory();
// Gives the cached blocks back to the system.
void release_cached_memory();

namespace detail {
// At least `bytes` bytes aligned to 64, uninitialised. Thread-safe. Throws Error when the system has no more.
void* allocate(std::int64_t bytes);
void deallocate(void* block, std::int64_t bytes) noexcept;
}  // namespace detail

}  // namespace tapeformer
