#include "tasks/common/epoch_order.h"

#include "core/random.h"
#include "core/shuffle.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kOrderStream = mix64(0x65706f6368);  // "epoch"

}  // namespace

std::int64_t EpochOrder::at(std::int64_t number) {
  const std::int64_t epoch = number / examples_;
  if (epoch_ != epoch) {
    order_ = arange(examples_);
    RandomStream random({.seed = seed_, .step = static_cast<std::uint32_t>(epoch), .stream = kOrderStream});
    shuffle(order_, random);
    epoch_ = epoch;
  }
  return order_[number % examples_];
}

}  // namespace tapeformer
