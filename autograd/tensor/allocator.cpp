#include "autograd/tensor/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "core/error.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

// Sizes are rounded up to eighths of a power of two: at most an eighth of a block is waste, and shapes that differ
// little share blocks.
std::int64_t size_class(std::int64_t bytes) {
  if (bytes <= kAlignment) return kAlignment;
  const std::int64_t step =
      std::max<std::int64_t>(kAlignment, std::bit_floor(static_cast<std::uint64_t>(bytes - 1)) / 8);
  return (bytes + step - 1) / step * step;
}

class Allocator {
 public:
  void* allocate(std::int64_t bytes) {
    const std::int64_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    stats_.in_use += size;
    stats_.peak = std::max(stats_.peak, stats_.in_use);
    if (auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
      void* block = found->second.back();
      found->second.pop_back();
      return block;
    }
    void* block = from_system(size);
    if (!block) {
      release();
      block = from_system(size);
    }
    if (!block) {
      stats_.in_use -= size;
      fail("out of memory: ", size, " bytes asked for, ", stats_.in_use, " bytes in use by tensors");
    }
    return block;
  }

  void deallocate(void* block, std::int64_t bytes) noexcept {
    const std::int64_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    stats_.in_use -= size;
    free_[size].push_back(block);
  }

  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    stats_.peak = stats_.in_use;
  }

  void release_cached() {
    const std::lock_guard lock(mutex_);
    release();
  }

 private:
  void* from_system(std::int64_t size) {
    const bool huge = size >= kHugePage;
    const std::int64_t alignment = huge ? kHugePage : kAlignment;
    void* block = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (!block) return nullptr;
    if (huge) madvise(block, size, MADV_HUGEPAGE);
    stats_.reserved += size;
    ++stats_.system_requests;
    return block;
  }

  void release() {
    for (auto& [size, blocks] : free_) {
      for (void* block : blocks) std::free(block);
      stats_.reserved -= size * static_cast<std::int64_t>(blocks.size());
      blocks.clear();
    }
  }

  std::mutex mutex_;
  std::map<std::int64_t, std::vector<void*>> free_;
  MemoryStats stats_;
};

// Never destroyed: tensors with static lifetime may outlive every other static object.
Allocator& allocator() {
  static Allocator& instance = *new Allocator;
  return instance;
}

}  // namespace

MemoryStats memory_stats() { return allocator().stats(); }
void reset_peak_memory() { allocator().reset_peak(); }
void release_cached_memory() { allocator().release_cached(); }

namespace detail {
void* allocate(std::int64_t bytes) { return allocator().allocate(bytes); }
void deallocate(void* block, std::int64_t bytes) noexcept { allocator().deallocate(block, bytes); }
}  // namespace detail

}  // namespace tapeformer
