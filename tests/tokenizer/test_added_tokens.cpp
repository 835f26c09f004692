// Added tokens of files by Hugging Face: the ids are those of its tokenizers.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tokenizer/tokenizer.h"

using namespace tapeformer;

namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> read(const json& file) { return Tokenizer::from_json(file.dump(), "t"); }

}  // namespace

TEST_CASE("added tokens: those in the white space that another takes with it are found too") {
  const auto tokenizer = read(json::parse(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                     {"id": 3, "content": "<t>", "special": false, "normalized": false, "rstrip": true},
                     {"id": 4, "content": "  ", "special": false, "normalized": false}],
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": false},
    "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, " ": 1, "a": 2}}})"));
  CHECK(tokenizer->encode("a<t> a") == Ids{2, 3, 2});
  CHECK(tokenizer->encode("<t>  a") == Ids{3, 4, 2});
  CHECK(tokenizer->encode("<t>   a") == Ids{3, 4, 1, 2});
  CHECK(tokenizer->encode("<t>    ") == Ids{3, 4, 4});
  CHECK(tokenizer->encode("<t>  <t> a") == Ids{3, 4, 3, 2});
  CHECK(tokenizer->encode("  <t>  ") == Ids{4, 3, 4});
  CHECK(tokenizer->encode("").empty());
}
