// Reading JSON of any origin, and JSON that tells when it was damaged.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace tapeformer {

// Throws Error that begins with `where`, for text that is not JSON, for lists and objects that are nested more than 100
// deep, and for an object that has a key twice. Json: nlohmann::json or nlohmann::ordered_json.
template <class Json>
Json parse_json(std::string_view text, std::string_view where = "");

// Adds the field "xxh3" to an object: the checksum of the others, in their order.
template <class Json>
void seal_json(Json& object);
// Takes that field away. Returns whether the object had it, with the checksum of the others.
template <class Json>
bool unseal_json(Json& object);

}  // namespace tapeformer
