// Brings memory to the cache while a kernel computes with something else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "autograd/kernels/scratch.h"

namespace tapeformer::kernels {

// Rows that the calling thread will read soon. The CPU does not foresee rows of a few cache lines that lie far apart,
// as those of a head of attention do: without this, attention spends a quarter of its time waiting for them.
class ReadAhead {
 public:
  static constexpr std::int64_t kLines = 48;  // that advance() asks for, if it is not told how many

  // `count` rows of `width` elements, `distance` elements apart. What the queue has no room for is left out.
  template <class T>
  void add(const T* rows, std::int64_t distance, std::int64_t count, std::int64_t width) {
    if (first_ == end_) first_ = end_ = 0;
    if (end_ == queue_.size() || count <= 0 || width <= 0) return;
    constexpr std::int64_t kSize = sizeof(T);
    queue_[end_++] = {reinterpret_cast<std::uintptr_t>(rows), distance * kSize, count, width * kSize};
  }

  // Forgets what it has not asked for.
  void clear() { *this = {}; }

  // The lines that are left, or more if rows do not begin and end at lines.
  std::int64_t lines() const {
    std::int64_t lines = 0;
    for (std::size_t i = first_; i < end_; ++i) {
      lines += queue_[i].count * (queue_[i].width / static_cast<std::int64_t>(kCacheLine) + 2);
    }
    return lines;
  }

  // Asks the CPU for the next lines. It does not wait for them.
  void advance(std::int64_t lines = kLines) {
    for (std::int64_t i = 0; i < lines; ++i) {
      const std::uintptr_t line = next_line();
      if (line == 0) return;
      __builtin_prefetch(reinterpret_cast<const void*>(line));
    }
  }

  // The address of the next cache line, 0 where none is left.
  std::uintptr_t next_line() {
    if (first_ == end_) return 0;
    Rows& rows = queue_[first_];
    const std::uintptr_t line = rows.start / kCacheLine * kCacheLine + line_ * kCacheLine;
    ++line_;
    if (line + kCacheLine >= rows.start + rows.width) {
      line_ = 0;
      rows.start += rows.distance;
      if (--rows.count == 0) ++first_;
    }
    return line;
  }

 private:
  struct Rows {
    std::uintptr_t start = 0;
    std::int64_t distance = 0, count = 0, width = 0;  // in bytes, but for the count
  };
  std::array<Rows, 8> queue_{};
  std::size_t first_ = 0, end_ = 0;  // in the queue
  std::uint64_t line_ = 0;           // of the first row
};

}  // namespace tapeformer::kernels
