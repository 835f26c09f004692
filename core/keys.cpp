#include "core/keys.h"

#include <algorithm>

namespace tapeformer {

KeyValues::KeyValues(std::span<const Key> keys) {
  for (const Key& key : keys) entries_.emplace_back(key.name, key.default_value);
}

bool KeyValues::has(std::string_view name) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) { return entry.first == name; });
}

const KeyValue& KeyValues::get(std::string_view name) const {
  for (const auto& [other, value] : entries_) {
    if (other == name) return value;
  }
  fail("there is no key ", name);
}

void KeyValues::set(std::string_view name, KeyValue value) {
  for (auto& [other, old] : entries_) {
    if (other != name) continue;
    check(old.index() == value.index(), "key ", name, ": set to a value of another type than it has");
    old = std::move(value);
    return;
  }
  fail("there is no key ", name);
}

}  // namespace tapeformer
