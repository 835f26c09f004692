#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/json.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

TEST_CASE("json: what is not JSON, too deep or ambiguous is refused, with the place") {
  const auto refused = [](const std::string& text, const std::string& why) {
    CHECK_THROWS_WITH_AS(parse_json<Json>(text, "a: "), ("a: " + why).c_str(), Error);
    CHECK_THROWS_WITH_AS(parse_json<nlohmann::json>(text), why.c_str(), Error);
  };
  refused("", "not valid JSON at byte 1");
  refused("{\n\"a\": 1,\n\"b\" 2}", "line 3: not valid JSON at byte 15");
  refused("[1e999]", "not valid JSON: a number is out of range");
  const std::string half = ": the \\u escape of half a character (D800 to DFFF) is without the other half";
  refused(R"(["\ud800"])", "not valid JSON at byte 9" + half);
  refused(R"(["\udc00"])", "not valid JSON at byte 8" + half);
  refused("{\"a\": 1, \"b\": {\"a\": 1, \"a\": 2}}", "the key \"a\" is there twice");
  for (const auto& [opening, closing] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    std::string deep, end;
    for (int i = 0; i < 100'000; ++i) deep += opening, end += closing;
    refused(deep, "lists and objects are more than 100 deep");
    refused(deep + "1" + end, "lists and objects are more than 100 deep");
  }
  const std::string most = std::string(100, '[') + std::string(100, ']');
  CHECK(parse_json<Json>(most).dump() == most);
}

TEST_CASE("json: a checksum is of an object's other fields, in their order") {
  Json object = {{"b", 1}, {"a", {1.5, "x"}}};
  const Json original = object;
  CHECK_FALSE(unseal_json(object));
  seal_json(object);
  CHECK(object["xxh3"].get<std::string>().size() == 16);
  Json changed = object, moved = {{"a", object["a"]}, {"b", 1}, {"xxh3", object["xxh3"]}};
  changed["b"] = 2;
  CHECK_FALSE(unseal_json(changed));
  CHECK_FALSE(unseal_json(moved));
  CHECK(unseal_json(object));
  CHECK(object == original);
}
