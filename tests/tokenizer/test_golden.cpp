// Ids by Hugging Face's tokenizers, made by golden/make_golden.mjs.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "helpers.h"

using namespace tapeformer;

namespace {

using nlohmann::ordered_json;
using Ids = std::vector<std::int32_t>;

ordered_json golden(const std::string& name) {
  return ordered_json::parse(std::ifstream(std::string(TEST_DATA) + "/golden/" + name));
}

void check_ids(const ordered_json& file, const ordered_json& texts, const ordered_json& ids) {
  const auto tokenizer = Tokenizer::from_json(file.dump(), "golden");
  REQUIRE(texts.size() == ids.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    CAPTURE(text);
    CHECK(tokenizer->encode(text) == ids[i].get<Ids>());
    CHECK(tokenizer->decode(ids[i].get<Ids>()) == text);
  }
}

}  // namespace

TEST_CASE("golden: the ids of Hugging Face's tokenizers, by files that it wrote") {
  const ordered_json ids = golden("ids.json");
  for (const std::string name : {"gpt2", "cl100k"}) {
    CAPTURE(name);
    ordered_json file = golden(name + ".json");
    check_ids(file, ids["texts"], ids[name]);

    ordered_json& merges = file["model"]["merges"];
    ordered_json fewer = ordered_json::array();
    for (std::size_t i = 0; i < merges.size(); ++i) {
      if (i % 4 != 3) fewer.push_back(merges[i]);
    }
    merges = fewer;
    file["model"]["ignore_merges"] = true;
    check_ids(file, ids["texts"], ids[name + "_ignore_merges"]);
    const auto read = Tokenizer::from_json(file.dump(), "golden");
    CHECK(ordered_json::parse(read->to_json())["model"]["ignore_merges"] == true);
  }
}

TEST_CASE("golden: added tokens that are not special are found as Hugging Face's tokenizers find them") {
  const ordered_json ids = golden("ids.json"), &added = ids["added"];
  ordered_json file = golden("gpt2.json");
  for (const ordered_json& token : added["tokens"]) file["added_tokens"].push_back(token);
  ordered_json texts = ids["texts"];
  for (const ordered_json& text : added["texts"]) texts.push_back(text);
  const auto read = Tokenizer::from_json(file.dump(), "golden");
  CHECK(read->added_tokens().size() == added["tokens"].size());
  const auto again = Tokenizer::from_json(read->to_json(), "written");
  CHECK(again->to_json() == read->to_json());
  REQUIRE(texts.size() == added["ids"].size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    CAPTURE(text);
    CHECK(read->encode(text) == added["ids"][i].get<Ids>());
    CHECK(again->encode(text) == added["ids"][i].get<Ids>());
    // One of the added tokens is also the token of a byte, 0xE9, and Hugging Face decodes it as that byte.
    if (text.find("é") == text.npos) CHECK(read->decode(read->encode(text)) == text);
  }
}

TEST_CASE("golden: what Hugging Face wrote and read is read, and written, as the same values") {
  for (const std::string name : {"gpt2", "cl100k"}) {
    ordered_json file = golden(name + ".json");
    ordered_json ours = ordered_json::parse(Tokenizer::from_json(file.dump(), "golden")->to_json());
    for (ordered_json& merge : file["model"]["merges"])
      merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    for (const ordered_json& added : file["added_tokens"])
      file["model"]["vocab"][added["content"].get<std::string>()] = added["id"];
    CHECK(nlohmann::json(ours) == nlohmann::json(file));
  }
}
