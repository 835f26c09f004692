// Parses untrusted JSON, writes JSON, and adds checksums to JSON objects to detect damage.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tapeformer {

// Parses JSON. Throws Error that begins with `where`, for text that is not JSON, for lists and objects that are nested
// more than 100 deep, and for an object that has a key twice. Json: nlohmann::json or nlohmann::ordered_json.
template <class Json>
Json parse_json(std::string_view text, std::string_view where = "");

// Writes JSON on one line, or, with `indent` spaces a level, on many. Bytes that are not UTF-8 become U+FFFD. The
// writer is compiled once, in json.cpp: each unit that calls dump() itself would take half a second longer.
std::string dump_json(const nlohmann::json& json, int indent = -1);
std::string dump_json(const nlohmann::ordered_json& json, int indent = -1);

// Adds the field "xxh3" to an object: the checksum of the other fields, in their order.
template <class Json>
void seal_json(Json& object);
// Removes that field. Returns whether the object had it, with the right checksum of the other fields.
template <class Json>
bool unseal_json(Json& object);

}  // namespace tapeformer
