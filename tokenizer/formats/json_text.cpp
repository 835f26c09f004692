#include "tokenizer/formats/json_text.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <vector>

#include "core/error.h"

namespace tapeformer {

using nlohmann::json;

json parse_json(std::string_view text) {
  constexpr std::size_t kMostLevels = 100;            // copying a value calls a function for each level
  std::vector<std::unordered_set<std::string>> keys;  // of the enclosing objects and lists
  const auto look = [&](int, json::parse_event_t event, json& parsed) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      check(keys.size() < kMostLevels, "lists and objects are more than ", kMostLevels, " deep");
      keys.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys.pop_back();
    } else if (event == Event::key) {
      check(keys.back().insert(parsed.get<std::string>()).second, "the key ", show(parsed), " is there twice");
    }
    return true;
  };
  std::size_t invalid = text.find('\0') + 1;  // bytes count from 1; the parser would end at a byte 0
  if (invalid == 0) {
    try {
      return json::parse(text, look);
    } catch (const json::parse_error& error) {
      invalid = error.byte;
    } catch (const json::out_of_range&) {  // the message of the parser quotes the number, however long it is
      fail("not valid JSON: a number is out of range");
    }
  }
  const std::string_view before = text.substr(0, invalid - 1);
  fail("line ", std::count(before.begin(), before.end(), '\n') + 1, ": not valid JSON at byte ", invalid);
}

std::string show(const json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) {
    const auto type = value.find("type");
    return type != value.end() && type->is_string() ? str_cat("an object of type ", show(*type)) : "an object";
  }
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr std::size_t kMost = 60;
  if (text.size() > kMost) {
    std::size_t end = kMost;
    while ((text[end] & 0xC0) == 0x80) --end;  // do not cut a character
    text = text.substr(0, end) + "...";
  }
  return text;
}

const json& member(const json& object, const char* key, const std::string& where) {
  check(object.is_object(), where, ": expected an object, got ", show(object));
  const auto entry = object.find(key);
  check(entry != object.end(), where, ": the key \"", key, "\" is missing");
  return *entry;
}

const std::string& text_of(const json& value, const std::string& where) {
  check(value.is_string(), where, ": expected a string, got ", show(value));
  return value.get_ref<const std::string&>();
}

std::int32_t id_of(const json& value, const std::string& where) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  check(value.is_number_unsigned(), where, ": expected a token id (0 or more), got ", show(value));
  check(value.get<std::uint64_t>() <= kMost, where, ": the token id ", show(value), " is above ", kMost);
  return value.get<std::int32_t>();
}

}  // namespace tapeformer
