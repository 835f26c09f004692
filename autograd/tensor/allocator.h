// A caching allocator for tensor storage: freed blocks are kept by size class and used again, so that a loop of fixed
// shapes asks the system for memory in its first step only. The blocks that it holds, in use and cached, are at most
// 1.25 times the peak in use: before it asks the system for a block that would exceed this, it takes a larger cached
// block, resizes one, or returns those that were freed longest ago. So a loop of varying shapes does not collect the
// blocks of every shape.
#pragma once

#include <cstdint>

#include "core/error.h"

namespace tapeformer {

// What is thrown where the system has no more memory for a tensor.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

struct MemoryStats {
  std::int64_t in_use = 0;           // bytes of live tensors, rounded up to their size classes
  std::int64_t peak = 0;             // the largest in_use since reset_peak_memory()
  std::int64_t reserved = 0;         // bytes of all blocks that the allocator holds: in use and cached
  std::int64_t system_requests = 0;  // how many blocks were requested from the system
};

MemoryStats memory_stats();
void reset_peak_memory();
// Returns all cached blocks to the system.
void release_cached_memory();

namespace detail {
// At least `bytes` bytes aligned to 64, uninitialised. Thread-safe. Throws OutOfMemory.
void* allocate(std::int64_t bytes);
void deallocate(void* block, std::int64_t bytes) noexcept;
}  // namespace detail

}  // namespace tapeformer
