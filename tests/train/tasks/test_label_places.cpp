// Which token's vector says the label of a word, for every kind of model and tokenizer.
#include <doctest/doctest.h>

#include <algorithm>

#include "tasks/analysis/probe.h"
#include "tests/train/tasks/task_toy.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;

namespace {

const char *const kFamilies[] = {"gpt", "rnn", "nplm", "bert", "bilm", "word2vec"}, *const kWords[] = {"tab", "tan",
                                                                                                       "tap"};
constexpr TokenizerKind kKinds[] = {TokenizerKind::character, TokenizerKind::bpe, TokenizerKind::word};

// Sentences of three words. Only the last letter of a word says its label, which is the word itself.
Config words_config(const TempFolder& folder, const std::string& type, TokenizerKind kind) {
  std::string text;
  for (std::uint32_t i = 0; i < 40; ++i) {
    for (std::uint32_t k = 0; k < 4; ++k) {
      const char* const word = kWords[mix64(i * 4 + k) % 3];
      text += str_cat(word, '\t', word, '\n');
    }
    text += '\n';
  }
  folder.write("words.tsv", text);
  Config config = tag_config(folder, type);
  config.model.options["dim"] = std::int64_t{32};
  config.model.options["layers"] = std::int64_t{1};
  if (type == "word2vec" || type == "nplm") config.model.options.erase("layers");
  if (type == "nplm") config.model.options["order"] = std::int64_t{6};
  config.tokenizer.kind = kind;
  // Two merges: a word has several tokens. bert has special tokens beside the bytes.
  config.tokenizer.vocab = kind != TokenizerKind::bpe ? 1000 : type == "bert" ? 263 : 259;
  config.data.labels = folder.path / "words.tsv";
  config.task.dropout = 0;
  config.schedule.warmup = 5;
  config.train.steps = 100, config.train.batch = 8;
  return config;
}

bool is_causal(const std::string& type) { return type == "gpt" || type == "rnn" || type == "nplm"; }

}  // namespace

TEST_CASE("tag: a causal model reads a word's last token, others its first one, and none the space before it") {
  const CacheFolder folder;
  for (const std::string type : kFamilies) {
    for (const TokenizerKind kind : kKinds) {
      CAPTURE(type);
      CAPTURE(word_of(kind));
      const TaskToy toy(words_config(folder, type, kind));
      const LabelledData& data = toy.objective.data();
      const RowEncoder encoder(find_label_task("tag"), toy.objective.model().encoder(), *data.tokenizer, data.labels);
      const LabelledRow row = encoder.encode({{"tab", "tap", "tan"}, {"", "", ""}}, "x: ").front();
      REQUIRE(row.positions.size() == 3);
      std::vector<std::string> tokens;
      for (const std::int64_t place : row.positions) tokens.emplace_back(data.tokenizer->token_bytes(row.ids[place]));
      if (kind == TokenizerKind::word) {
        CHECK(tokens == std::vector<std::string>{"tab", " tap", " tan"});
        continue;
      }
      if (is_causal(type)) {
        CHECK(tokens[0].ends_with('b'));
        CHECK(tokens[1].ends_with('p'));
        CHECK(tokens[2].ends_with('n'));
        continue;
      }
      for (const std::string& token : tokens) CHECK(token.find('t') != token.npos);
    }
  }
}

TEST_CASE(
    "tag: every model that reads context learns words that differ in their last letter, whatever the tokens are") {
  const CacheFolder folder;
  for (const std::string type : {"gpt", "rnn", "nplm", "bert", "bilm"}) {
    for (const TokenizerKind kind : kKinds) {
      CAPTURE(type);
      CAPTURE(word_of(kind));
      const Config config = words_config(folder, type, kind);
      TaskToy toy(config);
      toy.steps(1, config.train.steps);
      const Evaluation after = toy.objective.evaluate({});
      CHECK(measure(after, "accuracy") == 1);
      CHECK(after.loss() < 0.1);
    }
  }
}

TEST_CASE("encode_words: a first word that a word tokenizer knows only with a space before it is not unknown") {
  const std::string_view text = "The rabbit saw the red ball";
  const auto tokenizer = train_tokenizer({.kind = "word", .vocab = 100, .special_tokens = {}}, std::span(&text, 1));
  const auto tokens_of = [&](const std::vector<std::string_view>& words) {
    std::vector<std::string> tokens;
    const EncodedWords encoded = encode_words(words, *tokenizer);
    for (const std::int32_t id : encoded.ids) tokens.emplace_back(tokenizer->token_bytes(id));
    CHECK(encoded.firsts.size() == words.size());
    CHECK(encoded.begins.size() == words.size() + 1);
    return tokens;
  };
  CHECK(tokens_of({"rabbit", "saw"}) == std::vector<std::string>{" rabbit", " saw"});
  CHECK(tokens_of({"The", "ball"}) == std::vector<std::string>{"The", " ball"});
  CHECK(tokens_of({"red ball"}) == std::vector<std::string>{" red", " ball"});  // a whole text, as `classify` has it
  CHECK(tokens_of({"hare", "saw"}) == std::vector<std::string>{"<unk>", " saw"});
}

TEST_CASE("encode_words: a word of which the normalizer leaves nothing is the unknown token, and keeps its place") {
  const auto tokenizer = Tokenizer::from_json(R"({"added_tokens": [], "normalizer": {"type": "BertNormalizer",
      "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
      "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": {"type": "WordPiece"},
      "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "red": 1, "ball": 2}}})",
                                              "t");
  constexpr std::string_view kNothing = "\u200b";  // a zero-width space
  REQUIRE(tokenizer->encode(kNothing).empty());
  const std::string_view words[] = {"red", kNothing, "ball", kNothing};
  const EncodedWords encoded = encode_words(words, *tokenizer);
  CHECK(encoded.ids == std::vector<std::int32_t>{1, 0, 2, 0});
  CHECK(encoded.begins == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(encoded.firsts == std::vector<std::int64_t>{0, 1, 2, 3});
}
