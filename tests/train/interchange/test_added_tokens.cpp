// Tokens that a folder of Hugging Face has in files beside its tokenizer.json.
#include "tests/train/interchange/support.h"

using namespace tapeformer;

namespace {

namespace fs = std::filesystem;

// A folder with a golden model of 31 tokens and its tokenizer of 29: characters, and special tokens from 24 on.
struct ModelOf31 : TempFolder {
  ModelOf31() : folder(path / "model") {
    fs::copy(kGolden / "llama", folder);
    fs::copy_file(kGolden / "tokenizer.json", folder / "tokenizer.json");
  }
  void put(const std::string& name, const std::string& text) const { write("model/" + name, text); }
  std::unique_ptr<Tokenizer> tokenizer(std::vector<std::string>* warnings = nullptr) const {
    PublishedModel model = read_published(folder);
    if (warnings) *warnings = model.warnings;
    return std::move(model.tokenizer);
  }

  fs::path folder;
};

}  // namespace

TEST_CASE("interchange: tokens of added_tokens_decoder that tokenizer.json lacks are read, as in transformers") {
  const ModelOf31 model;
  // added_tokens.json is read only where tokenizer_config.json has no tokens.
  model.put("added_tokens.json", R"({"<c>": 29})");
  model.put("tokenizer_config.json", R"({"added_tokens_decoder": {
      "24": {"content": "<|endoftext|>", "special": true}, "30": {"content": "<b>", "special": true},
      "29": {"content": "<a>", "special": false, "normalized": false},
      "31": {"content": "<d>", "special": true}}})");
  std::vector<std::string> warnings;
  const auto tokenizer = model.tokenizer(&warnings);
  CHECK(tokenizer->vocab_size() == 31);
  CHECK(tokenizer->special("<b>") == 30);
  REQUIRE(tokenizer->added_tokens().size() == 1);
  CHECK(tokenizer->added_tokens().front().id == 29);
  CHECK(tokenizer->added_tokens().front().text == "<a>");
  CHECK((warnings ==
         std::vector<std::string>{"the added token \"<d>\" with the id 31 is left out: the model has 31 tokens"}));
}

TEST_CASE(
    "interchange: added tokens whose ids are not free, or leave a gap, get the first free ones, as in transformers") {
  const ModelOf31 model;
  // The tokenizer has [PAD] as 25, and another token as 24.
  model.put("tokenizer_config.json", R"({"added_tokens_decoder": {
      "40": {"content": "<a>", "special": true}, "30": {"content": "<b>", "special": true},
      "29": {"content": "[PAD]", "special": true}, "24": {"content": "<d>", "special": true}}})");
  std::vector<std::string> warnings;
  const auto tokenizer = model.tokenizer(&warnings);
  CHECK(tokenizer->vocab_size() == 31);
  CHECK(tokenizer->special("[PAD]") == 25);
  CHECK(tokenizer->special("<d>") == 29);
  CHECK(tokenizer->special("<b>") == 30);
  CHECK((warnings ==
         std::vector<std::string>{"the added token \"<a>\" with the id 31 is left out: the model has 31 tokens"}));
}

TEST_CASE("interchange: tokens of an older folder's added_tokens.json are special where its settings name them so") {
  const ModelOf31 model;
  model.put("added_tokens.json", R"({"<b>": 29, "<a>": 30})");
  model.put("tokenizer_config.json", R"({"add_bos_token": true, "bos_token": "<|endoftext|>"})");
  CHECK(!model.tokenizer()->special("<a>"));
  CHECK(model.tokenizer()->added_tokens().size() == 2);
  model.put("special_tokens_map.json", R"({"pad_token": {"content": "<a>"}, "additional_special_tokens": ["<b>"]})");
  CHECK(model.tokenizer()->special("<a>") == 30);
  CHECK(model.tokenizer()->special("<b>") == 29);
}

TEST_CASE("interchange: added tokens that do not fit the tokenizer are refused") {
  const ModelOf31 model;
  const auto message = [&] { return message_of([&] { read_published(model.folder); }); };
  model.put("added_tokens.json", R"({"<b>": 0})");
  CHECK(message().starts_with(model.folder.string() + ": added_tokens: token \"<b>\" has the id 0 of the token "));
  model.put("added_tokens.json", R"({"<b>": "29"})");
  CHECK(message() == (model.folder / "added_tokens.json").string() + ": expected an id for each token, got \"29\"");
  model.put("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {}}})");
  CHECK(message() == (model.folder / "tokenizer_config.json").string() +
                         ": added_tokens_decoder: expected ids and an object for each, got x and {}");
}
