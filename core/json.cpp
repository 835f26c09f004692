#include "core/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "core/hash.h"
#include "core/text/utf8.h"

namespace tapeformer {
namespace {

constexpr const char* kChecksum = "xxh3";

template <class Json>
std::string checksum(const Json& object) {
  return to_hex(hash_bytes(dump_json(object)));
}

// A key quoted for an error message, shortened if it is long.
std::string quoted(std::string key) {
  constexpr std::size_t kMax = 60;
  if (key.size() > kMax) key = key.substr(0, character_start(key, kMax)) + "...";
  return '"' + key + '"';
}

}  // namespace

template <class Json>
Json parse_json(std::string_view text, std::string_view where) {
  constexpr std::size_t kMaxLevels = 100;             // copying and writing a value recurse once for each level
  std::vector<std::unordered_set<std::string>> keys;  // of the enclosing objects and lists
  const auto look = [&](int, typename Json::parse_event_t event, Json& parsed) {
    using Event = typename Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      check(keys.size() < kMaxLevels, where, "lists and objects are more than ", kMaxLevels, " deep");
      keys.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys.pop_back();
    } else if (event == Event::key) {
      const auto key = parsed.template get<std::string>();
      check(keys.back().insert(key).second, where, "the key ", quoted(key), " is there twice");
    }
    return true;
  };
  std::size_t invalid = text.find('\0') + 1;  // a position from 1; the parser would stop at a byte 0
  bool lone_surrogate = false;
  if (invalid == 0) {
    try {
      return Json::parse(text, look);
    } catch (const typename Json::parse_error& error) {
      invalid = error.byte;
      lone_surrogate = std::string_view(error.what()).find("surrogate") != std::string_view::npos;
    } catch (const typename Json::out_of_range&) {  // the parser's message quotes the number, which may be very long
      fail(where, "not valid JSON: a number is out of range");
    }
  }
  const std::string_view before = text.substr(0, invalid - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  fail(where, line > 1 ? str_cat("line ", line, ": ") : "", "not valid JSON at byte ", invalid,
       lone_surrogate ? ": the \\u escape of half a character (D800 to DFFF) is without the other half" : "");
}

std::string dump_json(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string dump_json(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

template <class Json>
void seal_json(Json& object) {
  object[kChecksum] = checksum(object);
}

template <class Json>
bool unseal_json(Json& object) {
  const auto found = object.find(kChecksum);
  if (found == object.end()) return false;
  const Json stored = *found;
  object.erase(kChecksum);
  return stored == checksum(object);
}

template nlohmann::json parse_json(std::string_view, std::string_view);
template nlohmann::ordered_json parse_json(std::string_view, std::string_view);
template void seal_json(nlohmann::json&);
template void seal_json(nlohmann::ordered_json&);
template bool unseal_json(nlohmann::json&);
template bool unseal_json(nlohmann::ordered_json&);

}  // namespace tapeformer
