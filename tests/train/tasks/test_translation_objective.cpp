// What an encoder-decoder is trained on, and how it is measured.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "data/scores/bleu.h"
#include "generate/line_translator.h"
#include "tasks/translation/translation_evaluation.h"
#include "tests/train/toy.h"
#include "train/config/matmul_config.h"

using namespace tapeformer;

namespace {

double summed_surprisals(const TranslationToy& toy, const TokenPairs& pairs) {
  double nats = 0;
  for (std::int64_t i = 0; i < pairs.size(); ++i) {
    std::size_t scored = 0;
    score_tokens(toy.model, pairs.source(i), pairs.target(i), toy.data.tokenizers.symbols, 0,
                 [&](const TokenScore& score) { nats += score.nats, ++scored; });
    CHECK(scored == pairs.target(i).size() + 1);
  }
  return nats;
}

// Sentences of words with punctuation, which differ in how BLEU parts them; validation is on the same ones.
Config memorizing_config(const TempFolder& folder) {
  Config config = translation_config();
  remove_corpus(config);
  config.data.pairs = config.data.valid_pairs =
      folder
          .write("pairs.tsv",
                 "one two three\tuno, dos, tres, cuatro.\ntwo three four\tdos, tres, cuatro, cinco.\n"
                 "three four five\ttres: cuatro cinco seis!\nfour five six\tcuatro cinco, seis siete.\n")
          .string();
  config.tokenizer.kind = TokenizerKind::word;
  config.train.batch = 4;
  config.optimizer.lr = 1e-2;
  return config;
}

}  // namespace

TEST_CASE("translation: a step's loss is the mean over the target tokens of all its sentences") {
  Config config = translation_config();
  config.train.batch = 5;  // the last batch of an epoch is smaller
  config.train.accumulate = 8;
  TranslationToy toy(config);
  const TokenPairs& pairs = toy.data.train;
  REQUIRE(pairs.size() == 36);
  CHECK(toy.objective.steps_per_epoch() == 1);
  const std::int64_t tokens = pairs.target_tokens() + pairs.size();
  CHECK(toy.objective.step_size(1, {0, 8}).targets == tokens);
  CHECK(toy.objective.step_size(2, {0, 8}).targets == tokens);
  const kernels::MatmulPrecisionScope precision(matmul_precision(resolve(config)));
  const double nats = summed_surprisals(toy, pairs);
  CHECK(toy.step(1).loss == doctest::Approx(nats / static_cast<double>(tokens)).epsilon(1e-6));
}

TEST_CASE("translation: 1×36, 3×12, 9×4 and 36×1 sentences give the same loss and gradient") {
  Config config = translation_config();
  config.train.label_smoothing = 0.1;
  check_accumulation(config, 36, {1, 3, 9, 36}, 2, 1e-6);
}

TEST_CASE("translation: 1×12, 2×6, 4×3 and 12×1 sentences of several epochs give the same losses and gradients") {
  const Config config = translation_config();
  for (const std::int64_t accumulate : {1, 2, 4, 12}) {
    Config part = config;
    part.train.accumulate = accumulate;
    part.train.batch = 12 / accumulate;
    CHECK(TranslationToy(part).objective.steps_per_epoch() == 3);
  }
  check_accumulation(config, 12, {1, 2, 4, 12}, 7, 1e-5);
}

TEST_CASE("translation: train.length_groups mixes lengths within a step; 0 draws a group for each micro-step") {
  Config config = translation_config();
  config.train.batch = 4;
  config.train.accumulate = 3;
  const TokenPairs pairs = TranslationToy(config).data.train;
  const auto spread = [&](std::int64_t groups) {  // of the numbers of targets of the micro-steps of step 1
    config.train.length_groups = groups;
    TranslationToy toy(config);
    CHECK(toy.objective.steps_per_epoch() == 3);
    PairBatcher batcher(toy.data.train, toy.data.tokenizers.symbols, training_batch_options(toy.resolved));
    std::int64_t least = 1000, most = 0;
    for (std::int64_t micro = 0; micro < 3; ++micro) {
      least = std::min(least, batcher.scored(micro));
      most = std::max(most, batcher.scored(micro));
    }
    return most - least;
  };
  CHECK(spread(3) > spread(1));
  CHECK(spread(0) == spread(3));
}

TEST_CASE("translation evaluation: every target token and end once, whatever the batches") {
  const TranslationToy toy(translation_config());
  const TokenPairs& pairs = toy.data.train;
  const double nats = summed_surprisals(toy, pairs);
  for (const PairBatchOptions& options :
       {PairBatchOptions{.sentences = 1}, {.sentences = 7}, {.sentences = 64}, {.tokens = 13}, {.tokens = 100}}) {
    CAPTURE(options.tokens);
    CAPTURE(options.sentences);
    double share = 0;
    const Evaluation result = evaluate(toy.model, pairs, toy.data.tokenizers.symbols, options, 0, [&](double done) {
      CHECK(done > share);
      share = done;
    });
    CHECK(share == 1);
    CHECK(result.tokens == pairs.target_tokens() + pairs.size());
    CHECK(result.nats == doctest::Approx(nats).epsilon(1e-6));
    CHECK(result.loss() == result.nats / static_cast<double>(result.tokens));
    CHECK(result.perplexity() == std::exp(result.loss()));
  }
}

TEST_CASE("translation evaluation: some batches alone are of short and long sentences") {
  const TranslationToy toy(translation_config());
  const TokenPairs& pairs = toy.data.train;
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < pairs.size(); ++i) lengths.push_back(std::ssize(pairs.target(i)) + 1);
  std::ranges::sort(lengths);
  const auto tokens = [&](std::int64_t batches) {
    return evaluate(toy.model, pairs, toy.data.tokenizers.symbols, {.sentences = 1}, batches).tokens;
  };
  CHECK(tokens(1) == lengths[0]);
  CHECK(tokens(3) == lengths[0] + lengths[12] + lengths[24]);
  CHECK(tokens(99) == std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
}

TEST_CASE("translation evaluation: neither dropout nor label smoothing has a part in it") {
  Config config = translation_config();
  config.train.label_smoothing = 0.3;
  TranslationToy smoothed(config);
  config.model.options["dropout"] = 0.5;
  TranslationToy dropped(config);
  TranslationToy plain(translation_config());
  const Evaluation expected = plain.objective.evaluate({});
  CHECK(expected.tokens == plain.objective.validation().tokens);
  CHECK(expected.nats == doctest::Approx(summed_surprisals(plain, *plain.data.valid)).epsilon(1e-6));
  CHECK(smoothed.objective.evaluate({}).nats == expected.nats);
  CHECK(dropped.objective.evaluate({}).nats == expected.nats);
  const double loss = plain.step(1).loss, smoothed_loss = smoothed.step(1).loss;
  CHECK_FALSE(smoothed_loss == doctest::Approx(loss).epsilon(1e-4));
  CHECK_FALSE(dropped.step(1).loss == doctest::Approx(smoothed_loss).epsilon(1e-4));
}

TEST_CASE("translation: a pair beyond train.batch_tokens is told before the training, one for validation too") {
  Config config = translation_config();
  config.train.batch = Config{}.train.batch;
  config.train.batch_tokens = 12;  // the longest words have 12 letters
  CHECK_THROWS_WITH_AS(
      TranslationToy{config},
      "train.batch_tokens: expected at least 13, which the longest target sentence takes with its end, got 12", Error);
  const TempFolder folder;
  remove_corpus(config);
  config.data.pairs = folder.write("train.tsv", "abc\tcba\n").string();
  config.data.valid_pairs = folder.write("valid.tsv", "abcabcabcabc\tc\n").string();
  CHECK_THROWS_WITH_AS(
      TranslationToy{config},
      "train.batch_tokens: expected at least 13, which the longest source sentence takes with its end, got 12", Error);
  config.train.batch_tokens = 13;
  TranslationToy fits(config);
  CHECK(std::isfinite(fits.objective.evaluate({}).nats));
}

TEST_CASE("translation: BLEU is that of greedy translations of the first sentences") {
  const TempFolder folder;
  TranslationToy toy(memorizing_config(folder));
  for (int step = 1; step <= 30; ++step) toy.step(step);
  const PairTokenizers& tokenizers = toy.data.tokenizers;
  const auto expected = [&](std::size_t count, BleuTokenization tokenization) {
    Bleu bleu(tokenization);
    for (std::size_t i = 0; i < count; ++i) {
      const SentencePair& pair = toy.data.valid_pairs()[i];
      const auto lines = translate_lines(toy.model, *tokenizers.source, *tokenizers.target, tokenizers.symbols,
                                         std::span(&pair.source, 1), {.search = {.beam = 1}});
      bleu.add(lines[0].texts[0], pair.target);
    }
    return bleu.score().score;
  };
  CHECK(toy.objective.bleu() == expected(4, BleuTokenization::v13a));
  const auto bleu = [&](std::int64_t sentences, BleuTokenization tokenization) {
    Config config = toy.config;
    config.eval.bleu_sentences = sentences;
    config.eval.bleu_tokenize = tokenization;
    TranslationObjective objective(resolve(config), prepare_translation_data(resolve(config)));
    objective.model().load_state_dict(toy.model.state_dict());
    return *objective.bleu();
  };
  CHECK(bleu(2, BleuTokenization::v13a) == expected(2, BleuTokenization::v13a));
  CHECK(bleu(2, BleuTokenization::none) == expected(2, BleuTokenization::none));
  CHECK(bleu(99, BleuTokenization::none) == expected(4, BleuTokenization::none));
  CHECK(expected(4, BleuTokenization::none) > 0);
  CHECK_FALSE(expected(4, BleuTokenization::none) == expected(4, BleuTokenization::v13a));
  CHECK_FALSE(expected(2, BleuTokenization::v13a) == expected(4, BleuTokenization::v13a));
}

TEST_CASE("translation: sentences that are no use for training do not stop BLEU") {
  const TempFolder folder;
  Config config = memorizing_config(folder);
  config.tokenizer.kind = TokenizerKind::character;
  config.model.options["context"] = 64;
  config.data.valid_pairs = folder.write("valid.tsv", "one\tuno\n\n\xFF\tno UTF-8\nñandú\tunknown\n").string();
  TranslationToy toy(config);
  CHECK(toy.data.valid->size() == 2);
  CHECK(toy.objective.bleu().has_value());
}

TEST_CASE("translation: a sentence of which the tokenizer leaves nothing is left out, and does not stop BLEU") {
  const TempFolder folder;
  Config config = memorizing_config(folder);
  std::string special;
  for (const auto& [id, token] : {std::pair(0, "<pad>"), std::pair(1, "<s>"), std::pair(2, "</s>")}) {
    special += str_cat(id ? "," : "", R"({"id": )", id, R"(, "content": ")", token, R"(", "single_word": false, )",
                       R"("lstrip": false, "rstrip": false, "normalized": false, "special": true})");
  }
  const std::string words = str_cat(R"({"added_tokens": [)", special, R"(], "normalizer": {"type": "BertNormalizer",
      "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
      "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": {"type": "WordPiece"},
      "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 100,
      "vocab": {"<pad>": 0, "<s>": 1, "</s>": 2, "[UNK]": 3, "one": 4, "uno": 5}}})");
  config.tokenizer.file = folder.write("words.json", words).string();
  config.data.valid_pairs = folder.write("valid.tsv", "one\tuno\n\u200b\tuno\n").string();
  TranslationToy toy(config);
  CHECK(toy.data.valid->size() == 1);
  CHECK(toy.data.valid->skipped().empty == 1);
  CHECK(toy.objective.bleu().has_value());
  const PairTokenizers& tokenizers = toy.data.tokenizers;
  const std::vector<std::string_view> lines = {"\u200b", "one"};
  const auto translations = translate_lines(toy.model, *tokenizers.source, *tokenizers.target, tokenizers.symbols,
                                            lines, {.search = {.beam = 1}});
  CHECK(translations[0].texts == std::vector<std::string>{""});
  CHECK(translations[0].source.empty());
  CHECK(translations[1].source == std::vector<std::int32_t>{4});
}
