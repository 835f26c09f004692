#include "tokenizer/formats/json_text.h"

#include <limits>

#include "core/error.h"
#include "core/json.h"
#include "core/text/utf8.h"

namespace tapeformer {

using nlohmann::json;

std::string show(const json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) {
    const auto type = value.find("type");
    return type != value.end() && type->is_string() ? str_cat("an object of type ", show(*type)) : "an object";
  }
  std::string text = dump_json(value);
  constexpr std::size_t kMost = 60;
  if (text.size() > kMost) text = text.substr(0, character_start(text, kMost)) + "...";
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
