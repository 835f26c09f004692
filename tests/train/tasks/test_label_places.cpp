// Which token's vector says the label of a word, for every kind of model and tokenizer.
#include <doctest/doctest.h>

#include <algorithm>

#include "tasks/analysis/probe.h"
#include "tests/train/tasks/task_toy.h"

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
