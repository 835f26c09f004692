// A random permutation that is the same with every compiler.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"

namespace tapeformer {

// The Fisher-Yates shuffle: every order is equally probable. (The result of std::shuffle depends on the library.)
inline void shuffle(std::span<std::int64_t> items, RandomStream& random) {
  for (std::size_t left = items.size(); left > 1; --left) std::swap(items[left - 1], items[random.below(left)]);
}

// Returns 0, 1, …, size − 1, as torch.arange does.
inline std::vector<std::int64_t> arange(std::int64_t size) {
  std::vector<std::int64_t> items(size);
  std::iota(items.begin(), items.end(), 0);
  return items;
}

}  // namespace tapeformer
