// Reading JSON that others wrote: every message says in one line what is wrong and where.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tapeformer {

// Throws Error, with the line, for what is not JSON; for lists and objects more than 100 deep; for a key that an object
// has twice.
nlohmann::json parse_json(std::string_view text);

// A value for a message, on one short line.
std::string show(const nlohmann::json& value);

// All throw Error, beginning with `where`, when a value is missing or of another type.
const nlohmann::json& member(const nlohmann::json& object, const char* key, const std::string& where);
const std::string& text_of(const nlohmann::json& value, const std::string& where);
std::int32_t id_of(const nlohmann::json& value, const std::string& where);

}  // namespace tapeformer
