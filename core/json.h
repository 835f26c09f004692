// Parses untrusted JSON, and adds checksums to JSON objects to detect damage.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace tapeformer {

// Parses JSON. Throws Error that begins with `where`, for text that is not JSON, for lists and objects that are nested
// more than 100 deep, and for an object that has a key twice. Json: nlohmann::json or nlohmann::ordered_json.
template <class Json>
Json parse_json(std::string_view text, std::string_view where = "");

// Adds the field "xxh3" to an object: the checksum of the other fields, in their order.
template <class Json>
void seal_json(Json& object);
// Removes that field. Returns whether the object had it, with the right checksum of the other fields.
template <class Json>
bool unseal_json(Json& object);

}  // namespace tapeformer
