// How often each distinct pretoken occurs: one thread's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/bpe/pretoken_key.h"

namespace tapeformer {

// A flat hash table with open addressing. Short pretokens lie in their slots, long ones behind one another in a store.
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
  // What it takes after the next new pretoken, and most while it takes that one in: tables grow by a copy.
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

  // The same in the order of the pretokens' bytes, without more memory; forgets all, and gives the memory back.
  template <class F>
  void drain(const F& f) {
    sort();
    for (std::size_t i = 0; i < size_; ++i) f(pretoken_in(slots_[i]), slots_[i].count);
    clear();
  }

  // Forgets all, and gives the memory back.
  void clear() { *this = PretokenTable(); }

 private:
  static constexpr std::size_t kFewestSlots = 64;
  // In place of a length: the pretoken is in long_bytes_, from the place in the lower bits of `high` on; `low` is its
  // hash.
  static constexpr std::uint64_t kLong = std::uint64_t{0xFF} << 56;

  struct Slot {
    PretokenKey key;
    std::int64_t count = 0;  // 0: free
  };

  bool is_full() const { return size_ + 1 > slots_.size() / 4 * 3; }
  std::size_t place_of(std::uint64_t hash) const { return hash >> shift_; }
  Slot* after(Slot* slot) { return slot + 1 == slots_.data() + slots_.size() ? slots_.data() : slot + 1; }
  std::string_view pretoken_in(const Slot& slot) const;
  void add_long(std::string_view pretoken, std::int64_t count);
  // Puts the key in the free slot, or where it belongs in a larger table.
  Slot* new_slot(Slot* slot, const PretokenKey& key, std::uint64_t hash);
  void grow();
  // Puts the pretokens first, ascending. It is no hash table then.
  void sort();

  std::vector<Slot> slots_;  // a power of two
  int shift_ = 64 - 6;       // a hash's upper bits are its slot
  std::size_t size_ = 0;
  std::vector<char> long_bytes_;  // length (8 bytes) and bytes of each long pretoken
};

}  // namespace tapeformer
