// How often each distinct pretoken occurs: one thread's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/bpe/pretoken_key.h"

namespace tapeformer {

// A flat hash table with open addressing. Short pretokens are in their slots, long ones in a buffer, one after another.
class PretokenTable {
 public:
  PretokenTable() : slots_(kFewestSlots) {}

  // `pretoken` is not empty.
  void add(std::string_view pretoken, std::int64_t count = 1) {
    const bool is_short = pretoken.size() <= PretokenKey::kMostBytes;
    if (is_short) {
      const PretokenKey key(pretoken);
      Slot* slot = &slots_[place_of(key.hash())];
      while (slot->count != 0 && !(slot->key == key)) slot = after(slot);
      if (slot->count == 0) slot = new_slot(slot, key, key.hash());
      slot->count += count;
    } else {
      add_long(pretoken, count);
    }
  }

  std::size_t size() const { return size_; }
  // The memory after the next new pretoken, and the most while it is added, since a table grows by being copied.
  std::size_t bytes_with_one_more() const {
    return slots_.size() * sizeof(Slot) * (is_full() ? 3 : 1) + 2 * long_bytes_.capacity();
  }

  // Calls f(pretoken, count) for each, in no particular order.
  template <class F>
  void for_each(const F& f) const {
    for (const Slot& slot : slots_) {
      if (slot.count != 0) f(pretoken_in(slot), slot.count);
    }
  }

  // Calls f in the order of the pretokens' bytes, without more memory. Then removes all, and frees the memory.
  template <class F>
  void drain(const F& f) {
    sort();
    for (std::size_t i = 0; i < size_; ++i) f(pretoken_in(slots_[i]), slots_[i].count);
    clear();
  }

  // Removes all, and frees the memory.
  void clear() { *this = PretokenTable(); }

 private:
  static constexpr std::size_t kFewestSlots = 64;
  // Stands in place of a length: the pretoken is in long_bytes_, at the place in the lower bits of `high`, and `low` is
  // its hash.
  static constexpr std::uint64_t kLong = std::uint64_t{0xFF} << 56;

  struct Slot {
    PretokenKey key;
    std::int64_t count = 0;  // 0: the slot is free
  };

  bool is_full() const { return size_ + 1 > slots_.size() / 4 * 3; }
  std::size_t place_of(std::uint64_t hash) const { return hash >> shift_; }
  Slot* after(Slot* slot) { return slot + 1 == slots_.data() + slots_.size() ? slots_.data() : slot + 1; }
  std::string_view pretoken_in(const Slot& slot) const;
  void add_long(std::string_view pretoken, std::int64_t count);
  // Puts the key into the free slot, or into its slot of a larger table.
  Slot* new_slot(Slot* slot, const PretokenKey& key, std::uint64_t hash);
  void grow();
  // Moves the pretokens to the front, sorted. After that this is not a hash table any more.
  void sort();

  std::vector<Slot> slots_;  // the size is a power of two
  int shift_ = 64 - 6;       // the upper bits of a hash are its slot
  std::size_t size_ = 0;
  std::vector<char> long_bytes_;  // length (8 bytes) and bytes of each long pretoken
};

}  // namespace tapeformer
