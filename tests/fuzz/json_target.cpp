#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "targets.h"

namespace tapeformer::fuzz {

void json(std::string_view data) {
  using Json = nlohmann::ordered_json;
  Json read;
  try {
    read = parse_json<Json>(data);
  } catch (const Error&) {
    return;
  }
  const Json copy = read;
  require(parse_json<Json>(copy.dump()) == read, "JSON reads back otherwise");
  if (!read.is_object()) return;
  read.erase("xxh3");
  Json sealed = read;
  seal_json(sealed);
  require(unseal_json(sealed) && sealed == read, "a checksum differs from itself");
}

}  // namespace tapeformer::fuzz
