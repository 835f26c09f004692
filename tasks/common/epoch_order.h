// The order in which training reads examples: shuffled anew in each epoch.
#pragma once

#include <cstdint>
#include <vector>

namespace tapeformer {

// A pure function of the seed and the epoch.
class EpochOrder {
 public:
  EpochOrder() = default;
  EpochOrder(std::int64_t examples, std::uint64_t seed) : examples_(examples), seed_(seed) {}

  // Returns the example that is read as number `number`, counted from 0 over all epochs.
  std::int64_t at(std::int64_t number);

 private:
  std::int64_t examples_ = 0;
  std::uint64_t seed_ = 1;
  std::int64_t epoch_ = -1;  // the epoch that order_ is drawn for
  std::vector<std::int64_t> order_;
};

}  // namespace tapeformer
