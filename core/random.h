// Counter-based random numbers: every number is a pure function of a key and an index. So there is no generator state
// to save, and other threads or an evaluation cannot change the numbers of a sequence.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace tapeformer {

// Philox4x32-10 of Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// A bijective mix of 64 bits (the finaliser of SplitMix64).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// The key of a sequence of random numbers. Keys that differ in any field give independent sequences.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::uint32_t micro_step = 0;
  std::uint64_t stream = 0;  // the user of the sequence: an op's index on the tape, the batcher, an initialiser

  RandomKey with_stream(std::uint64_t other) const { return {seed, step, micro_step, other}; }

  // The Philox key and the two upper counter words; the lower two are the block index.
  std::array<std::uint32_t, 2> philox_key() const {
    const std::uint64_t mixed = mix64(seed ^ mix64(stream));
    return {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)};
  }

  // The words 4·block to 4·block + 3 of the sequence.
  std::array<std::uint32_t, 4> words(std::uint64_t block) const {
    return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), step, micro_step},
                      philox_key());
  }
};

// Reads the sequence of a key from its start, one word at a time.
class RandomStream {
 public:
  explicit RandomStream(RandomKey key) : key_(key) {}

  std::uint32_t next_u32() {
    if (used_ == 4) {
      words_ = key_.words(block_++);
      used_ = 0;
    }
    return words_[used_++];
  }
  std::uint64_t next_u64() {
    const std::uint64_t high = next_u32();
    return high << 32 | next_u32();
  }
  // Uniform in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }
  // Uniform in [0, bound), without bias (values in the incomplete last range are rejected); bound >= 1.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t uneven = (0 - bound) % bound;
    std::uint64_t word = next_u64();
    while (word < uneven) word = next_u64();
    return word % bound;
  }
  // Standard normal (Box-Muller; the second value of a pair is not kept).
  double normal() {
    const double u = 1.0 - uniform(), v = uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
  }

 private:
  RandomKey key_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> words_{};
  int used_ = 4;
};

}  // namespace tapeformer
