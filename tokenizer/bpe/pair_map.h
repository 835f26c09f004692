// A flat hash table from pairs of ids to values: open addressing, at most three quarters full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/pair_key.h"

namespace tapeformer {

// No pair_key() of ids, which are 0 or more, is this one.
inline constexpr std::uint64_t kNoPair = ~std::uint64_t{0};

template <class Value>
class PairMap {
 public:
  PairMap() : slots_(kFewestSlots) {}

  // Null if the key is not in the table. The pointer is valid until the next insertion or removal.
  Value* find(std::uint64_t key) {
    Slot& slot = slots_[place_of(key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  const Value* find(std::uint64_t key) const {
    const Slot& slot = slots_[place_of(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

  // The value of the key, which is inserted if it is not in the table.
  Value& operator[](std::uint64_t key) {
    std::size_t place = place_of(key);
    if (slots_[place].key != key) {
      if (size_ + 1 > slots_.size() / 4 * 3) {
        grow();
        place = place_of(key);
      }
      slots_[place].key = key;
      ++size_;
    }
    return slots_[place].value;
  }

  // Removes a key that is in the table. The keys after it move up, so that no search ends too early.
  void erase(std::uint64_t key) {
    std::size_t free = place_of(key);
    for (std::size_t at = after(free); slots_[at].key != kNoPair; at = after(at)) {
      const std::size_t distance_home = (at - home_of(slots_[at].key)) & (slots_.size() - 1);
      if (distance_home < ((at - free) & (slots_.size() - 1))) continue;  // a key may not be before its home slot
      slots_[free] = std::move(slots_[at]);
      free = at;
    }
    slots_[free] = Slot();
    --size_;
  }

  std::size_t size() const { return size_; }

  // Calls f(key, value) for each, in no particular order.
  template <class F>
  void for_each(const F& f) {
    for (Slot& slot : slots_) {
      if (slot.key != kNoPair) f(slot.key, slot.value);
    }
  }

 private:
  static constexpr std::size_t kFewestSlots = 16;
  struct Slot {
    std::uint64_t key = kNoPair;
    Value value{};
  };

  std::size_t home_of(std::uint64_t key) const { return pair_hash(key) >> shift_; }
  std::size_t after(std::size_t place) const { return (place + 1) & (slots_.size() - 1); }
  // The slot of the key, or the free slot where it belongs.
  std::size_t place_of(std::uint64_t key) const {
    std::size_t place = home_of(key);
    while (slots_[place].key != key && slots_[place].key != kNoPair) place = after(place);
    return place;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    --shift_;
    for (Slot& slot : old) {
      if (slot.key != kNoPair) slots_[place_of(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;  // the size is a power of two
  int shift_ = 64 - 4;       // the upper bits of a key's hash are its home slot
  std::size_t size_ = 0;
};

}  // namespace tapeformer
