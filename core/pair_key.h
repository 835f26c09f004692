// Pairs of ids as keys of hash tables.
#pragma once

#include <cstdint>

namespace tapeformer {

// Returns a pair of ids as one key: the left one is in the upper half.
constexpr std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32 | right; }

// Spreads keys over all 64 bits; the upper bits are the best ones.
constexpr std::uint64_t pair_hash(std::uint64_t key) {
  key *= 0x9E3779B97F4A7C15ull;
  return (key ^ key >> 32) * 0xD6E8FEB86659FD93ull;
}

}  // namespace tapeformer
