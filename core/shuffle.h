// Random permutations that are the same with every compiler.
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

// The order in which training reads examples: shuffled anew in each epoch. It is a pure function of the seed, the epoch
// and the stream, by which orders of the same seed differ.
class EpochOrder {
 public:
  EpochOrder() = default;
  EpochOrder(std::int64_t examples, std::uint64_t seed, std::uint64_t stream = mix64(0x65706f6368))  // "epoch"
      : examples_(examples), seed_(seed), stream_(stream) {}

  // Returns the example that is read as number `number`, counted from 0 over all epochs.
  std::int64_t at(std::int64_t number) {
    const std::int64_t epoch = number / examples_;
    if (epoch_ != epoch) {
      order_ = arange(examples_);
      RandomStream random({.seed = seed_, .step = static_cast<std::uint32_t>(epoch), .stream = stream_});
      shuffle(order_, random);
      epoch_ = epoch;
    }
    return order_[number % examples_];
  }

 private:
  std::int64_t examples_ = 0;
  std::uint64_t seed_ = 1, stream_ = 0;
  std::int64_t epoch_ = -1;  // the epoch that order_ is drawn for
  std::vector<std::int64_t> order_;
};

}  // namespace tapeformer
