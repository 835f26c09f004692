// Training and evaluation of masked language models.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/ignored_target.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tests/long_test.h"
#include "tests/train/toy.h"
#include "tokenizer/masked_symbols.h"
#include "tokenizer/train_tokenizer.h"
#include "train/run/metrics.h"

using namespace tapeformer;

TEST_CASE("masked training: a step scores the chosen tokens alone, and begins with the loss of a guess") {
  const CacheFolder folder;
  for (const bool pairs : {false, true}) {
    CAPTURE(pairs);
    Config config = bert_config(pairs);
    config.train.batch = 8;
    MaskedToy toy(config);
    const std::int64_t targets = toy.objective.step_size(3, {0, 1}).targets;
    CHECK(targets > 8);
    CHECK(targets < 8 * 16 / 2);
    const double expected = std::log(toy.model.vocab()) + (pairs ? std::log(2) : 0);  // nats per chosen token
    CHECK(toy.step(3).loss == doctest::Approx(expected).epsilon(0.1));
    CHECK(toy.objective.step_size(3, {0, 1}).targets == targets);
  }
}

TEST_CASE("masked training: a step of which nothing is chosen changes no gradient, and its micro-steps have no loss") {
  const CacheFolder folder;
  Config config = bert_config();
  config.train.mlm_probability = 1e-9;
  MaskedToy toy(config);
  CHECK(toy.objective.step_size(1, {0, 1}).targets == 0);
  CHECK(toy.objective.step_size(1, {0, 1}).tokens == 4 * 18);
  const StepResult result = toy.step(1);
  CHECK(result.loss == 0);
  CHECK_FALSE(result.scored);
  CHECK(result.grad_norm == 0);
  CHECK_FALSE(toy.objective.can_evaluate());
  const MaskedBatcher rows(toy.data.valid->view(), *toy.data.tokenizer, masked_row_options(toy.resolved, 4));
  CHECK(toy.objective.validation().missing == "no token of the validation text is chosen");
  const Evaluation nothing = evaluate(toy.model, rows, 0);
  CHECK(nothing.tokens == 0);
  CHECK(nothing.nats == 0);
  CHECK(nothing.metrics.empty());
  config.data.valid_fraction = 0;
  CHECK(MaskedToy(config).objective.validation().missing == "no validation text");
}

TEST_CASE("text tasks: a training text is refused only if it has fewer tokens than the rows of its task take") {
  const CacheFolder folder;
  const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  const auto check_least = [&](Config config, std::size_t least, const std::string& message) {
    remove_corpus(config);
    config.tokenizer.kind = TokenizerKind::character;
    config.data.valid_fraction = 0;
    config.data.text = {folder.write("text.txt", letters.substr(0, least)).string()};
    AnyToy(config).steps(1, 3);
    folder.write("text.txt", letters.substr(0, least - 1));
    CHECK_THROWS_WITH_AS(AnyToy{config}, message.c_str(), Error);
  };
  check_least(bert_config(), 16, "the training text has 15 tokens: model.context = 18 takes at least 16");
  check_least(bert_config(/*pairs=*/true), 15, "the training text has 14 tokens: model.context = 18 takes at least 15");
  check_least(word2vec_config(), 18, "the training text has 17 tokens: model.context = 8 takes at least 18");
  check_least(glove_config(), 2, "the training text has 1 tokens: model.context = 8 takes at least 2");
}

TEST_CASE("masked training: the metrics have no loss of a step of which nothing is chosen") {
  const CacheFolder folder;
  Config config = bert_config(/*pairs=*/true);  // so that unsmoothed_loss is there too
  config.train.batch = 1;
  config.train.mlm_probability = 0.05;
  config.train.steps = 40;
  config.train.log_every = 1;
  const auto toy = trained<MaskedToy>(config, folder.path / "run");
  std::int64_t steps = 0, without = 0;
  for (const auto& line : read_metrics(RunFolder{folder.path / "run"}.metrics())) {
    if (!line.contains("loss")) continue;
    const std::int64_t targets = toy->objective.step_size(line["step"].get<std::int64_t>(), {0, 1}).targets;
    for (const char* const key : {"loss", "unsmoothed_loss"}) {
      CHECK(line[key].is_number() == (targets > 0));
      CHECK(line[key].is_null() == (targets == 0));
    }
    ++steps;
    without += targets == 0;
  }
  CHECK(steps == 40);
  CHECK(without > 0);
  CHECK(without < 40);
}

TEST_CASE("masked training: the learned tokenizers of every kind have [PAD], [CLS], [SEP] and [MASK]") {
  const CacheFolder folder;
  for (const TokenizerKind kind : {TokenizerKind::character, TokenizerKind::word, TokenizerKind::bpe}) {
    Config config = bert_config();
    config.tokenizer.kind = kind;
    config.tokenizer.vocab = 300;
    const MaskedToy toy(config);
    const MaskedSymbols symbols = masked_symbols(*toy.data.tokenizer);
    CHECK(toy.data.tokenizer->token_bytes(symbols.mask) == "[MASK]");
    CHECK(toy.data.tokenizer->token_bytes(symbols.classification) == "[CLS]");
  }
  Config config = bert_config();
  const std::string line = corpus_line("stories", 0, 1);
  const std::string_view text[] = {line};
  train_tokenizer({.kind = "bpe", .vocab = 300, .special_tokens = {"[MASK]", "[PAD]"}}, text)
      ->save(folder.path / "tokenizer.json");
  config.tokenizer.file = (folder.path / "tokenizer.json").string();
  CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)),
                       "tokenizer: a masked language model needs the special tokens [PAD], [CLS], [SEP] and [MASK], "
                       "got one without [CLS], [SEP]: `tokenizer train` adds those that --special names",
                       UsageError);
}

TEST_CASE("masked training: loss and accuracy come near those of forward-backward on the same masks of a Markov chain" *
          long_test()) {
  const CacheFolder folder;
  Config config = bert_config();
  config.model.options = {{"layers", std::int64_t{1}},
                          {"heads", std::int64_t{2}},
                          {"dim", std::int64_t{32}},
                          {"context", std::int64_t{10}},
                          {"init_std", 0.1}};
  learn_quickly(config, {.steps = 800, .batch = 128, .lr = 3e-3});
  config.train.mlm_probability = 0.3;
  MaskedToy toy(config);
  toy.steps(1, config.train.steps);
  const Evaluation result = toy.objective.evaluate({});
  REQUIRE(result.metrics.size() == 1);
  CHECK(result.metrics[0].first == "accuracy");

  // The best model on the same rows.
  const MaskedRowOptions options = masked_row_options(toy.resolved, 64);
  const MaskedBatcher rows(toy.data.valid->view(), *toy.data.tokenizer, options);
  const auto state_of = [&](std::int32_t id) {
    const char c = toy.data.tokenizer->token_bytes(id)[0];
    return id == rows.masker().mask_token() ? kMaskedState : c == '\n' ? 0 : c - 'a' + 1;
  };
  double nats = 0, right = 0;
  MaskedBatch batch;
  for (std::int64_t i = 0; i < rows.batches(); ++i) {
    rows.fill(i, batch);
    for (std::int64_t row = 0; row < batch.rows; ++row) {
      const auto letters = [&](const std::vector<std::int32_t>& values) {
        return std::span(values).subspan(row * batch.length + 1, batch.lengths[row] - 2);
      };
      std::vector<int> observed;
      for (const std::int32_t id : letters(batch.ids)) observed.push_back(state_of(id));
      const auto posterior = masked_posteriors(markov_chain(), observed, options.rates);
      for (std::size_t t = 0; t < posterior.size(); ++t) {
        const std::int32_t target = letters(batch.targets)[t];
        if (target == kIgnoredTarget) continue;
        nats -= std::log(posterior[t][state_of(target)]);
        right += std::ranges::max_element(posterior[t]) - posterior[t].begin() == state_of(target);
      }
    }
  }
  const auto chosen = static_cast<double>(result.tokens);
  CHECK(result.loss() > nats / chosen);
  CHECK(result.loss() < nats / chosen + 0.06);
  CHECK(result.metrics[0].second == doctest::Approx(right / chosen).epsilon(0.05));
  const MaskedOptimum optimum = *corpus_masked_optimum("markov", 8, options.rates);
  CHECK(nats / chosen == doctest::Approx(optimum.nats).epsilon(0.03));  // the rows are a sample
}

TEST_CASE("masked training: what it is not made for is refused") {
  const Config bert = bert_config();
  check_refused(bert, "model.next_sentence", "true",
                "model.segments: expected at least 2 beside model.next_sentence, got 1");
  check_refused(bert, "model.context", "4",
                "model.context: expected at least 8 for bert, whose rows have [CLS] and [SEP], got 4");
  check_refused(bert, "eval.stride", "8",
                "eval.stride: expected 0 or model.context, which is 18, for bert, whose windows do not overlap, got 8");
  check_refused(bert, "train.mask_random", "0.3",
                "train.mask_random: expected at most 0.2, since train.mask_token is 0.8, got 0.3");
  Config none = bert;
  none.train.mlm_probability = 0;
  CHECK_THROWS_WITH_AS(resolve(none), "train.mlm_probability: expected 0 < value <= 1, got 0.0", UsageError);
  Config pairs = bert;
  remove_corpus(pairs);
  check_refused(pairs, "data.pairs", "pairs.tsv",
                "model.type: bert trains on data.text or data.corpus, got data.pairs");
  check_refused({}, "train.mlm_probability", "0.3",
                "train.mlm_probability: expected 0.15 for gpt, which masks no tokens, got 0.3");
  check_refused({}, "train.mask_token", "1", "train.mask_token: expected 0.8 for gpt, which masks no tokens, got 1");
  check_refused({}, "train.mask_random", "0", "train.mask_random: expected 0.1 for gpt, which masks no tokens, got 0");
}

TEST_CASE("masked training: a masked token leaves no trace: another one in its place gives the same predictions") {
  const CacheFolder folder;
  for (const bool pairs : {false, true}) {
    CAPTURE(pairs);
    MaskedToy toy(bert_config(pairs));
    const MaskedRowOptions options = masked_row_options(toy.resolved, 3);
    std::vector<std::int32_t> text(120);
    toy.data.train.view().copy(0, text);
    const auto batch_of = [&](const std::vector<std::int32_t>& ids) {
      const std::span<const std::int32_t> view = ids;
      MaskedBatch batch;
      MaskedBatcher(view, *toy.data.tokenizer, options).draw(1, 0, batch);
      return batch;
    };
    const auto features_of = [&](const MaskedBatch& batch) {
      Tape tape(no_grad);
      return toy.model.features(masked_rows(tape, batch).text).value().to_vector<float>();
    };
    const MaskedBatch before = batch_of(text);
    const std::vector<float> features = features_of(before);
    const std::int32_t mask = masked_symbols(*toy.data.tokenizer).mask;
    std::int64_t masked = 0, visible = 0;
    for (std::int32_t& token : text) {
      const std::int32_t own = std::exchange(token, token == 3 ? 4 : 3);
      const MaskedBatch after = batch_of(text);
      token = own;
      bool seen = false;  // whether the token stands in an input
      for (std::size_t i = 0; i < after.ids.size(); ++i) {
        const bool edited = after.targets[i] != before.targets[i];
        CHECK((after.targets[i] == kIgnoredTarget) == (before.targets[i] == kIgnoredTarget));
        masked += edited && before.ids[i] == mask;
        seen = seen || after.ids[i] != before.ids[i];
      }
      visible += seen;
      CHECK((features_of(after) == features) == !seen);
    }
    CHECK(masked > 0);
    CHECK(visible > 0);
  }
}

TEST_CASE("masked training: next-sentence prediction tells segments that follow each other from others" * long_test()) {
  const CacheFolder folder;
  Config config = bert_config(true);
  // Stretches of one letter each: whether both segments have the same one says nearly all.
  std::string text;
  RandomStream random(RandomKey{.seed = 2});
  for (int stretch = 0; stretch < 400; ++stretch) text += std::string(200, static_cast<char>('a' + random.below(4)));
  folder.write("text.txt", text);
  remove_corpus(config);
  config.data.text = {(folder.path / "text.txt").string()};
  config.optimizer.lr = 2e-3;
  config.optimizer.options["beta2"] = 0.99;
  config.train.batch = 32;
  config.train.steps = 300;
  config.model.options["init_std"] = 0.1;
  config.model.options["dim"] = std::int64_t{64};
  config.model.options["heads"] = std::int64_t{4};
  MaskedToy toy(config);
  toy.steps(1, config.train.steps);
  const Evaluation result = toy.objective.evaluate({});
  REQUIRE(result.metrics.size() == 3);
  CHECK(result.metrics[2].second > 0.75);  // a quarter of the others has the same letter by chance
  CHECK(result.metrics[1].second < 0.5);
}
