// Named settings with a type, a default, a help text and a set of allowed values: the keys of a configuration, and the
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
// The alternatives have the order of KeyType.
using KeyValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::string>>;

// The range of a numeric key. An infinite maximum means no upper limit; but the value itself must be finite.
struct KeyRange {
  double min, max;
  bool excludes_min = false, excludes_max = false;
  bool or_minus_one = false;  // whether -1, which stands for another value, is allowed beside the range
};
constexpr KeyRange at_least(double min) { return {min, std::numeric_limits<double>::infinity()}; }
constexpr KeyRange above(double min) { return {min, std::numeric_limits<double>::infinity(), true}; }
constexpr KeyRange between(double min, double max) { return {min, max}; }
constexpr KeyRange fraction() { return {0, 1, false, true}; }
constexpr KeyRange or_minus_one(KeyRange range) {
  range.or_minus_one = true;
  return range;
}
inline constexpr double kMaxSize = 1 << 20;    // a width, length or count above this is assumed to be a typing error
inline constexpr double kMaxLayers = 1 << 13;  // and so is a number of layers above this
inline constexpr double kMaxMinutes = 10.0 * 366 * 24 * 60;  // and a time of more than ten years

struct Key {
  std::string name;
  KeyValue default_value;
  std::string help;  // one line, with the unit
  // The allowed values: all of the type; a range of numbers; or a list of words for a string.
  std::variant<std::monostate, KeyRange, std::vector<std::string>> allowed = {};
  // The key from which the default, or the placeholder, is derived, with its section ("model.dim"); empty if the
  // default is fixed.
  std::string follows = {};
  // The value that asks for the derived one, if another than the default does.
  std::optional<KeyValue> placeholder = {};
  // The effective value of the default, if that is known beforehand: 0.1, say, for a default of -1.
  std::optional<KeyValue> stands_for = {};
  // Whether a resumed run may change the value: the key does not describe the model, its tokens or its task.
  bool may_change = false;
  // Words that may be written instead of some values of a number: {"none", 1.0}.
  std::vector<std::pair<std::string, double>> words = {};
  // Another key of the same owner whose value is a word, and the words beside which this key is read: {"cell",
  // {"lstm"}}. Empty: it is read beside any.
  std::pair<std::string, std::vector<std::string>> read_beside = {};

  KeyType type() const { return static_cast<KeyType>(default_value.index()); }
  // Returns the value that resolving replaces by a derived one, if the key follows another.
  const KeyValue& replaced_value() const { return placeholder ? *placeholder : default_value; }
};

// The words for the values of an enum. A specialisation lists each value once:
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

// Returns the value that a word names. Throws Error for an unknown word.
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

// Makes a key whose values are the words of an enum.
template <class Enum>
Key word_key(std::string name, Enum default_value, std::string help) {
  return {std::move(name), word_of(default_value), std::move(help), words_of<Enum>()};
}

// The values of some keys, in the order of the keys.
class KeyValues {
 public:
  KeyValues() = default;
  // Gives every key its default.
  explicit KeyValues(std::span<const Key> keys);

  bool has(std::string_view name) const;
  // All of these throw Error if there is no such key, or if it has another type.
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
