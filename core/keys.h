// Named settings with a type, a default, a help text and the values they take: the keys of a configuration, and the
// options of a model family or an optimizer.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"

namespace tapeformer {

enum class KeyType { integer, number, boolean, string, list };
// The alternatives stand in the order of KeyType.
using KeyValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::string>>;

// The numbers that a key takes. An infinite maximum means no upper limit; infinite values are refused all the same.
struct KeyRange {
  double min, max;
  bool excludes_min = false, excludes_max = false;
};
inline KeyRange at_least(double min) { return {min, std::numeric_limits<double>::infinity()}; }
inline KeyRange above(double min) { return {min, std::numeric_limits<double>::infinity(), true}; }
inline KeyRange between(double min, double max) { return {min, max}; }
inline KeyRange fraction() { return {0, 1, false, true}; }
inline constexpr double kMaxSize = 1 << 20;  // a width, length or count above this is a slip of the hand

struct Key {
  std::string name;
  KeyValue default_value;
  std::string help;  // one line, with the unit
  // Everything of the type; a range of numbers; or the words that a string may be.
  std::variant<std::monostate, KeyRange, std::vector<std::string>> allowed = {};
  // The key that the default is worked out from, with its section ("model.dim"); empty where the default is fixed.
  std::string follows = {};
  // The value that the default stands for, where that is known beforehand: 0.1, say, for a default of -1.
  std::optional<KeyValue> stands_for = {};
  // A run that is resumed may change the value: it says nothing of the model, its tokens or its task.
  bool may_change = false;

  KeyType type() const { return static_cast<KeyType>(default_value.index()); }
};

// The words that name the values of an enum. A specialisation lists each value once:
//
//   template <> struct Words<NormPlace> {
//     static constexpr std::pair<NormPlace, std::string_view> list[] = {{NormPlace::pre, "pre"}, …};
//   };
template <class Enum>
struct Words;

template <class Enum>
std::string word_of(Enum value) {
  for (const auto& [other, word] : Words<Enum>::list) {
    if (other == value) return std::string(word);
  }
  fail("an enum has the value ", static_cast<int>(value), ", which no word names");
}

// Throws Error for a word that names no value.
template <class Enum>
Enum value_of(std::string_view word) {
  for (const auto& [value, other] : Words<Enum>::list) {
    if (other == word) return value;
  }
  fail("no value is called ", word);
}

template <class Enum>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (const auto& entry : Words<Enum>::list) words.emplace_back(entry.second);
  return words;
}

// A key whose value is one of an enum's words.
template <class Enum>
Key word_key(std::string name, Enum default_value, std::string help) {
  return {std::move(name), word_of(default_value), std::move(help), words_of<Enum>()};
}

// The values of some keys, in the order of the keys.
class KeyValues {
 public:
  KeyValues() = default;
  // Every key has its default.
  explicit KeyValues(std::span<const Key> keys);

  bool has(std::string_view name) const;
  // All of these throw Error when there is no such key, or when it is of another type.
  const KeyValue& get(std::string_view name) const;
  void set(std::string_view name, KeyValue value);
  std::int64_t integer(std::string_view name) const { return typed<std::int64_t>(name); }
  double number(std::string_view name) const { return typed<double>(name); }
  bool boolean(std::string_view name) const { return typed<bool>(name); }
  const std::string& text(std::string_view name) const { return typed<std::string>(name); }
  template <class Enum>
  Enum word(std::string_view name) const {
    return value_of<Enum>(text(name));
  }

  const std::vector<std::pair<std::string, KeyValue>>& entries() const { return entries_; }
  bool operator==(const KeyValues&) const = default;

 private:
  template <class T>
  const T& typed(std::string_view name) const {
    const T* value = std::get_if<T>(&get(name));
    check(value != nullptr, "key ", name, ": read as another type than it has");
    return *value;
  }

  std::vector<std::pair<std::string, KeyValue>> entries_;
};

}  // namespace tapeformer
