#include "autograd/tensor/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/sanitizers.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

// Blocks of at least this size are memory mappings of their own: munmap returns them to the system at once, while
// free() would leave holes in the C library's heap. AddressSanitizer sees writes past a block of its own heap only.
#if defined(TAPEFORMER_ADDRESS_SANITIZER)
constexpr std::int64_t kLeastMapping = std::numeric_limits<std::int64_t>::max();
#else
constexpr std::int64_t kLeastMapping = std::int64_t{256} << 10;
#endif

// Sizes are rounded up to eighths of a power of two: at most an eighth of a block is waste, and shapes that differ
// little share blocks.
std::int64_t size_class(std::int64_t bytes) {
  if (bytes <= kAlignment) return kAlignment;
  const std::int64_t step =
      std::max<std::int64_t>(kAlignment, std::bit_floor(static_cast<std::uint64_t>(bytes - 1)) / 8);
  return (bytes + step - 1) / step * step;
}

std::int64_t round_up(std::int64_t size, std::int64_t unit) { return (size + unit - 1) / unit * unit; }

std::int64_t mapping_length(std::int64_t size) {
  static const std::int64_t page = sysconf(_SC_PAGESIZE);
  return round_up(size, page);
}

// Null when the system has no more.
void* map_block(std::int64_t size) {
  const bool huge = size >= kHugePage;
  const std::int64_t length = mapping_length(size), spare = huge ? kHugePage : 0;
  void* const mapping = mmap(nullptr, length + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  if (!huge) return mapping;
  // Huge pages need an aligned start, so the parts of a longer mapping before and behind the block are unmapped.
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  const std::int64_t before = (kHugePage - address % kHugePage) % kHugePage, behind = spare - before;
  std::byte* const block = static_cast<std::byte*>(mapping) + before;
  if (before > 0) munmap(mapping, before);
  if (behind > 0) munmap(block + length, behind);
  madvise(block, length, MADV_HUGEPAGE);
  return block;
}

// Moves the memory of a mapped block of `from` bytes into one of `to` bytes: the system has to clear only the pages
// that are new. Null when the system has no more; the old block is gone in either case.
void* resize_mapping(void* block, std::int64_t from, std::int64_t to) {
  const std::int64_t old_length = mapping_length(from), length = mapping_length(to);
  if (length <= old_length) {
    if (length < old_length) munmap(static_cast<std::byte*>(block) + length, old_length - length);
    return block;
  }
  void* const larger = map_block(to);
  const bool moved =
      larger && mremap(block, old_length, old_length, MREMAP_MAYMOVE | MREMAP_FIXED, larger) != MAP_FAILED;
  if (!moved) munmap(block, old_length);
  return larger;
}

void* request_block(std::int64_t size) {
  if (size >= kLeastMapping) return map_block(size);
  return std::aligned_alloc(kAlignment, round_up(size, kAlignment));
}

void return_block(void* block, std::int64_t size) {
  if (size >= kLeastMapping) {
    munmap(block, mapping_length(size));
  } else {
    std::free(block);
  }
}

class Allocator {
 public:
  void* allocate(std::int64_t bytes) {
    const std::int64_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    stats_.in_use += size;
    const std::int64_t peak_before = stats_.peak;
    stats_.peak = std::max(stats_.peak, stats_.in_use);
    if (auto found = cached_.find(size); found != cached_.end() && !found->second.empty()) return take(found);
    const bool full = stats_.reserved + size > most_reserved();
    if (void* block = full ? take_larger(size) : nullptr) return block;
    void* block = full ? take_resized(size) : nullptr;
    trim_to(most_reserved() - size);
    if (!block) block = request_block(size);
    if (!block) {
      trim_to(0);
      block = request_block(size);
    }
    if (!block) {
      stats_.in_use -= size;
      stats_.peak = peak_before;
      throw OutOfMemory(
          str_cat("out of memory: ", size, " bytes asked for, ", stats_.in_use, " bytes in use by tensors"));
    }
    stats_.reserved += size;
    ++stats_.system_requests;
    return block;
  }

  void deallocate(void* block, std::int64_t bytes) noexcept {
    std::int64_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    stats_.in_use -= size;
    if (auto found = larger_.find(block); found != larger_.end()) {
      excess_ -= found->second - size;
      size = found->second;
      larger_.erase(found);
    }
    cached_[size].push_back({block, ++frees_});
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
    trim_to(0);
  }

 private:
  struct Cached {
    void* memory;
    std::uint64_t freed;  // which of all frees this was
  };

  using BlocksBySize = std::map<std::int64_t, std::vector<Cached>>;

  // A quarter more than the peak. Live tensors and their excess never need more, so trim_to() can always reach this.
  std::int64_t most_reserved() const { return stats_.peak + most_excess(); }
  std::int64_t most_excess() const { return stats_.peak / 4; }

  static void* take(BlocksBySize::iterator blocks) {
    void* const block = blocks->second.back().memory;
    blocks->second.pop_back();
    return block;
  }

  // The smallest cached block that is larger than `size`, but not more than twice as large; null if there is none.
  void* take_larger(std::int64_t size) {
    auto blocks = cached_.lower_bound(size);
    while (blocks != cached_.end() && blocks->second.empty()) ++blocks;
    if (blocks == cached_.end() || blocks->first > 2 * size) return nullptr;
    if (excess_ + blocks->first - size > most_excess()) return nullptr;
    void* const block = take(blocks);
    larger_[block] = blocks->first;
    excess_ += blocks->first - size;
    return block;
  }

  // The cached mapping of the nearest size, resized; null if there is none.
  void* take_resized(std::int64_t size) {
    if (size < kLeastMapping) return nullptr;
    auto nearest = cached_.end();
    for (auto blocks = cached_.lower_bound(kLeastMapping); blocks != cached_.end(); ++blocks) {
      if (blocks->second.empty()) continue;
      if (nearest == cached_.end() || std::abs(blocks->first - size) < std::abs(nearest->first - size))
        nearest = blocks;
    }
    if (nearest == cached_.end()) return nullptr;
    void* const block = take(nearest);
    stats_.reserved -= nearest->first;
    return resize_mapping(block, nearest->first, size);
  }

  // Returns cached blocks to the system, the longest unused first, until at most `bytes` are reserved or
  // no cached block is left.
  void trim_to(std::int64_t bytes) {
    while (stats_.reserved > bytes) {
      auto oldest = cached_.end();
      for (auto blocks = cached_.begin(); blocks != cached_.end(); ++blocks) {
        if (blocks->second.empty()) continue;
        if (oldest == cached_.end() || blocks->second.front().freed < oldest->second.front().freed) oldest = blocks;
      }
      if (oldest == cached_.end()) return;
      return_block(oldest->second.front().memory, oldest->first);
      oldest->second.erase(oldest->second.begin());
      stats_.reserved -= oldest->first;
    }
  }

  std::mutex mutex_;
  BlocksBySize cached_;                             // by size class; each list in the order of the frees
  std::unordered_map<void*, std::int64_t> larger_;  // blocks in use that are larger than their tensors' size class
  std::int64_t excess_ = 0;                         // by how many bytes in all
  std::uint64_t frees_ = 0;
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
