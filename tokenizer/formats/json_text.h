// Reads values from the JSON of a tokenizer. Every error says in one line what is wrong and where.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace tapeformer {

// A value as one short line for a message.
std::string show(const nlohmann::json& value);

// These throw Error that begins with `where` when a value is missing or of another type.
const nlohmann::json& member(const nlohmann::json& object, const char* key, const std::string& where);
const std::string& text_of(const nlohmann::json& value, const std::string& where);
std::int32_t id_of(const nlohmann::json& value, const std::string& where);

}  // namespace tapeformer
