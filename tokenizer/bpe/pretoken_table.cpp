#include "tokenizer/bpe/pretoken_table.h"

#include <algorithm>

#include "core/hash.h"

namespace tapeformer {

std::string_view PretokenTable::pretoken_in(const Slot& slot) const {
  if ((slot.key.high & kLong) != kLong) return slot.key.view();
  const char* record = long_bytes_.data() + (slot.key.high & ~kLong);
  std::uint64_t size = 0;
  std::memcpy(&size, record, sizeof size);
  return {record + sizeof size, size};
}

void PretokenTable::add_long(std::string_view pretoken, std::int64_t count) {
  PretokenKey key;
  key.low = hash_bytes(pretoken);
  key.high = kLong | long_bytes_.size();
  Slot* slot = &slots_[place_of(key.low)];
  const auto is_other = [&] {
    return slot->key.low != key.low || (slot->key.high & kLong) != kLong || pretoken_in(*slot) != pretoken;
  };
  while (slot->count != 0 && is_other()) slot = after(slot);
  if (slot->count == 0) {
    const std::uint64_t size = pretoken.size();
    const char* size_bytes = reinterpret_cast<const char*>(&size);
    long_bytes_.insert(long_bytes_.end(), size_bytes, size_bytes + sizeof size);
    long_bytes_.insert(long_bytes_.end(), pretoken.begin(), pretoken.end());
    slot = new_slot(slot, key, key.low);
  }
  slot->count += count;
}

PretokenTable::Slot* PretokenTable::new_slot(Slot* slot, const PretokenKey& key, std::uint64_t hash) {
  if (is_full()) {
    grow();
    slot = &slots_[place_of(hash)];
    while (slot->count != 0) slot = after(slot);
  }
  ++size_;
  slot->key = key;
  return slot;
}

void PretokenTable::grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_ = std::vector<Slot>(old.size() * 2);
  --shift_;
  for (const Slot& entry : old) {
    if (entry.count == 0) continue;
    const bool is_long = (entry.key.high & kLong) == kLong;
    Slot* slot = &slots_[place_of(is_long ? entry.key.low : entry.key.hash())];
    while (slot->count != 0) slot = after(slot);
    *slot = entry;
  }
}

void PretokenTable::sort() {
  std::partition(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.count != 0; });
  std::sort(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(size_),
            [&](const Slot& a, const Slot& b) { return pretoken_in(a) < pretoken_in(b); });
}

}  // namespace tapeformer
