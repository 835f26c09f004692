// The pairs and the vocabularies that a configuration names.
#include <doctest/doctest.h>

#include <cmath>

#include "core/error.h"
#include "tests/train/toy.h"
#include "tokenizer/train_tokenizer.h"
#include "train/loop/objective.h"

using namespace tapeformer;

namespace {

struct Files : TempFolder {
  std::string file(const std::string& name, std::string_view text) const { return write(name, text).string(); }

  // A configuration of characters on pairs.
  Config on_pairs(std::string_view pairs) const {
    Config config = translation_config();
    remove_corpus(config);
    config.data.pairs = file("pairs.tsv", pairs);
    config.data.valid_fraction = 0;
    return config;
  }
  // A vocabulary of characters with the given special tokens.
  std::string vocabulary(const std::string& name, std::vector<std::string> special_tokens) const {
    const std::string_view text = "abc";
    train_tokenizer({.kind = "char", .vocab = 0, .special_tokens = std::move(special_tokens)}, std::span(&text, 1))
        ->save(path / name);
    return (path / name).string();
  }
};

void check_refused(const Config& config, const std::string& message) {
  CHECK_THROWS_WITH_AS(prepare_translation_data(resolve(config)), message.c_str(), Error);
}

}  // namespace

TEST_CASE("translation data: one vocabulary for both sides, or one each") {
  const Files files;
  Config config = files.on_pairs("ab\txyz\nba\tzyx\n");
  const TranslationData joint = prepare_translation_data(resolve(config));
  CHECK(joint.tokenizers.joint());
  CHECK(joint.tokenizers.source->vocab_size() == 5 + 4);
  CHECK_FALSE(joint.valid.has_value());
  REQUIRE(joint.train.size() == 2);
  CHECK(joint.tokenizers.target->decode(joint.train.target(1)) == "zyx");

  config.tokenizer.joint = false;
  const TranslationData apart = prepare_translation_data(resolve(config));
  CHECK_FALSE(apart.tokenizers.joint());
  CHECK(apart.tokenizers.source->vocab_size() == 2 + 4);
  CHECK(apart.tokenizers.target->vocab_size() == 3 + 4);
  CHECK(apart.tokenizers.symbols.source.end == 2 + 2);
  CHECK(apart.tokenizers.symbols.target.end == 3 + 2);
  CHECK(apart.train.source(0).front() == 0);
  CHECK(apart.train.target(0).front() == 0);
  CHECK(apart.hash == joint.hash);

  config.tokenizer.kind = TokenizerKind::bpe;
  config.tokenizer.vocab = 300;
  const TranslationData bpe = prepare_translation_data(resolve(config));
  CHECK(bpe.tokenizers.source->special("</s>").has_value());
  CHECK_FALSE(bpe.tokenizers.source->special("<unk>").has_value());  // it knows every byte
}

TEST_CASE("translation data: a vocabulary of characters knows those of validation, others are learned without") {
  const Files files;
  Config config = files.on_pairs("a b\tc d\n");
  config.data.valid_pairs = files.file("valid.tsv", "a x\tc y\n");
  CHECK(prepare_translation_data(resolve(config)).tokenizers.source->vocab_size() == 7 + 4);
  config.tokenizer.kind = TokenizerKind::word;
  const TranslationData words = prepare_translation_data(resolve(config));
  CHECK(words.tokenizers.source->vocab_size() == 4 + 4);
  CHECK(words.valid->source(0).back() == words.tokenizers.source->special("<unk>"));
}

TEST_CASE("translation data: a warning tells of training pairs of which more than a tenth is unknown") {
  const Files files;
  Config config = files.on_pairs("a b c\td e f\n");
  config.tokenizer.kind = TokenizerKind::word;
  const auto known = make_objective(resolve(config));
  CHECK(known->facts().warnings.empty());
  config.tokenizer.file = files.file("tokenizer.json", known->facts().tokenizers.source);
  const std::string words = " are words or characters that the vocabulary does not have: the model reads <unk>";
  config.data.pairs = files.file("other.tsv", "a b x\td e f\n");
  CHECK(make_objective(resolve(config))->facts().warnings ==
        std::vector<std::string>{"1 of 3 tokens of the training sources" + words});
  config.data.pairs = files.file("third.tsv", "a b c\td y f\n");
  CHECK(make_objective(resolve(config))->facts().warnings ==
        std::vector<std::string>{"1 of 3 tokens of the training targets" + words});
}

TEST_CASE("translation data: vocabularies from files, of which an error names the one that it is about") {
  const Files files;
  Config config = files.on_pairs("ab\tca\n");
  const std::string good = files.vocabulary("good.json", {"</s>", "<pad>", "<s>"});
  config.tokenizer.file = good;
  const TranslationData joint = prepare_translation_data(resolve(config));
  CHECK(joint.tokenizers.joint());
  CHECK(joint.tokenizers.symbols.target.begin == 3 + 2);

  config.tokenizer.joint = false;
  config.tokenizer.target_file = files.vocabulary("no-end.json", {"<s>", "<pad>"});
  const std::string no_end = ": the vocabulary has no special token </s>, which ends a sentence";
  check_refused(config, config.tokenizer.target_file + no_end);
  std::swap(config.tokenizer.file, config.tokenizer.target_file);
  check_refused(config, config.tokenizer.file + no_end);
  config.tokenizer.file = "";  // learned
  CHECK(prepare_translation_data(resolve(config)).tokenizers.source->vocab_size() == 2 + 4);
  config.tokenizer.target_file = files.vocabulary("no-begin.json", {"</s>", "<pad>"});
  check_refused(config,
                config.tokenizer.target_file + ": the vocabulary has no special token <s>, which begins a sentence");

  // A character that a vocabulary without <unk> does not have.
  config.tokenizer.target_file = good;
  config.data.pairs = files.file("unknown.tsv", "a\ta\nab\tcab\nb\tbd\n");
  check_refused(config, config.data.pairs +
                            ": sentence pair 3: char tokenizer: character 'd' (U+0064) at byte 1 is not in the "
                            "vocabulary; a bpe tokenizer takes any bytes");
}

TEST_CASE("translation data: a run's vocabularies, one of which may be lost") {
  const Files files;
  Config config = files.on_pairs("ab\tca\n");
  config.tokenizer.joint = false;
  const std::string text = read_all(files.vocabulary("v.json", {"<s>", "</s>", "<pad>"}));
  const RunFolder run = create_run(files.path / "run", to_toml(resolve(config)), {text, text});
  const PairTokenizers both = load_pair_tokenizers(run, resolve(config));
  CHECK_FALSE(both.joint());
  std::filesystem::remove(run.target_tokenizer());
  CHECK_THROWS_WITH_AS(load_pair_tokenizers(run, resolve(config)),
                       ("cannot open " + run.target_tokenizer().string() + ": No such file or directory").c_str(),
                       Error);
  config.tokenizer.joint = true;
  CHECK(load_pair_tokenizers(run, resolve(config)).joint());
}

TEST_CASE("translation data: pairs that are no use are left out, of learning vocabularies too, and told") {
  const Files files;
  std::string pairs = "ab\tba\n\nba\tab\n \tQ\nX\xFF\tab\nab\t\xC3(\n";
  for (const std::string kind : {"char", "word", "bpe"}) {
    CAPTURE(kind);
    Config config = files.on_pairs(pairs + "aaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaa" + std::string(16, ' ') + "\tb\n");
    config.tokenizer.kind = value_of<TokenizerKind>(kind);
    const TranslationData data = prepare_translation_data(resolve(config));
    CHECK(data.train.skipped().empty == 2);
    CHECK(data.train.skipped().invalid_utf8 == 2);
    CHECK(data.train.skipped().too_long == (kind == "char" ? 1 : 0));
    if (kind == "char") CHECK(data.tokenizers.source->vocab_size() == 3 + 4);  // 'a', 'b' and the space
  }
  Config config = files.on_pairs("ab\tba\n" + pairs);
  config.data.valid_pairs = files.file("valid.tsv", "aaaaaaaaaaaaaaaa\tb\n" + pairs);
  const auto task = make_objective(resolve(config));
  CHECK(task->facts().warnings ==
        std::vector<std::string>{
            "4 of 7 training pairs are left out: 2 have an empty side, 2 are not valid UTF-8",
            "5 of 7 validation pairs are left out: 2 have an empty side, 2 are not valid UTF-8, 1 is longer than 15 "
            "tokens"});
  CHECK(make_objective(resolve(files.on_pairs("ab\tba\n")))->facts().warnings.empty());
}

TEST_CASE("translation data: a text of which nothing is left is named") {
  const Files files;
  const std::string path = (files.path / "pairs.tsv").string();
  for (const std::string kind : {"char", "word", "bpe"}) {
    CAPTURE(kind);
    const auto refused = [&](std::string_view pairs, const std::string& message) {
      Config config = files.on_pairs(pairs);
      config.tokenizer.kind = value_of<TokenizerKind>(kind);
      config.model.options["context"] = 2;
      check_refused(config, path + ": " + message);
    };
    refused("\n\ta\n\xFF\ta\n", "none of 3 sentence pairs can be used: 2 have an empty side, 1 is not valid UTF-8");
    refused("a1b2\tb\n", "none of 1 sentence pairs can be used: 1 is longer than 1 tokens");
  }
}

TEST_CASE("translation data: both sides' files, and validation's, are named") {
  const Files files;
  Config config = translation_config();
  remove_corpus(config);
  config.data.source = files.file("a.src", "\n\n");
  config.data.target = files.file("a.tgt", "x\ny\n");
  const auto sides = [&] { return config.data.source + " and " + config.data.target; };
  check_refused(config, sides() + ": none of 1 sentence pairs can be used: 1 has an empty side");
  config.data.valid_fraction = 0.9;
  check_refused(config, sides() + ": no sentence pair is left to train on, all are for validation");
  config.data.valid_fraction = 0;
  config.data.source = files.file("b.src", "a\nb\n");
  config.data.valid_source = files.file("v.src", "\n");
  config.data.valid_target = files.file("v.tgt", "y\n");
  check_refused(config, config.data.valid_source + " and " + config.data.valid_target +
                            ": none of 1 sentence pairs can be used: 1 has an empty side");
  config.data.valid_source = files.file("v.src", "a\n");
  CHECK(prepare_translation_data(resolve(config)).valid->size() == 1);
  CHECK(prepare_translation_data(resolve(config)).train.size() == 2);
}

TEST_CASE("translation data: for a model without a context, pairs that no batch can hold are left out and told") {
  const Files files;
  Config config = files.on_pairs("abc\tcba\nabcd\tdcba\nab\tba\n");
  config.model.type = "rnn_seq2seq";
  config.model.options = {{"dim", std::int64_t{8}}};
  config.train.batch = Config{}.train.batch;
  config.train.batch_tokens = 4;
  TranslationToy toy(config);
  CHECK(toy.data.train.size() == 2);
  CHECK(toy.objective.facts().warnings ==
        std::vector<std::string>{"1 of 3 training pairs are left out: 1 is longer than 3 tokens"});
  CHECK(std::isfinite(toy.step(1).loss));
  config.train.batch_tokens = 0;
  config.train.batch = 3;
  CHECK(prepare_translation_data(resolve(config)).train.size() == 3);
}
