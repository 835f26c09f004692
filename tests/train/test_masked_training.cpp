// Training and evaluation of masked language models.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/ignored_target.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tests/train/toy.h"
#include "tokenizer/masked_symbols.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;

namespace {

Config bert_config(bool pairs = false) {
  Config config = toy_config_of("bert", {{"layers", std::int64_t{2}},
                                         {"heads", std::int64_t{2}},
                                         {"dim", std::int64_t{16}},
                                         {"context", std::int64_t{18}}});
  if (pairs) {
    config.model.options["segments"] = std::int64_t{2};
    config.model.options["next_sentence"] = true;
  }
  return config;
}

// Σ −ln P of the targets of a row alone.
double nats_of_row(const MaskedLanguageModel& model, const MaskedBatch& batch, std::int64_t row) {
  const auto part = [&](const std::vector<std::int32_t>& values) {
    return Tensor::from(std::span(values).subspan(row * batch.length, batch.lengths[row]), {1, batch.lengths[row]});
  };
  Tape tape(no_grad);
  Batch text{.input_ids = Variable::constant(tape, part(batch.ids))};
  if (!batch.segments.empty()) text.token_type_ids = part(batch.segments);
  const TokenPrediction chosen = scored_positions(model.features(text), part(batch.targets));
  return chosen.targets.numel() ? model.loss(chosen.features, chosen.targets, {.normalizer = 1}).value().item() : 0;
}

}  // namespace

TEST_CASE("masked training: 1×8, 2×4 and 8×1 give the same losses and gradients") {
  const CacheFolder folder;
  for (const bool pairs : {false, true}) {
    for (const double smoothing : {0.0, 0.1}) {
      CAPTURE(pairs);
      Config config = bert_config(pairs);
      config.optimizer.lr = 0;
      config.train.label_smoothing = smoothing;
      std::vector<float> gradient;
      StepResult whole;
      for (const std::int64_t accumulate : {1, 2, 8}) {
        CAPTURE(accumulate);
        config.train.accumulate = accumulate;
        config.train.batch = 8 / accumulate;
        MaskedToy toy(config);
        const std::int64_t targets = toy.objective.step_size(3, {0, accumulate}).targets;
        CHECK(targets > 8);
        CHECK(targets < 8 * 16 / 2);
        const StepResult result = toy.step(3);
        CHECK(toy.objective.step_size(3, {0, accumulate}).targets == targets);
        const std::vector<float> got = toy.slab.gradients().to_vector<float>();
        if (accumulate == 1) {
          gradient = got, whole = result;
          const double expected = std::log(toy.model.vocab()) + (pairs ? std::log(2) : 0);  // nats per chosen token
          CHECK(whole.loss == doctest::Approx(expected).epsilon(0.1));
          continue;
        }
        CHECK(result.loss == doctest::Approx(whole.loss).epsilon(1e-6));
        if (smoothing > 0) CHECK(*result.nll_loss == doctest::Approx(*whole.nll_loss).epsilon(1e-6));
        CHECK(norm_of_difference(got, gradient) <= 1e-5 * result.grad_norm);
      }
    }
  }
}

TEST_CASE("masked training: a run that was cut in two has the weights of one that was not") {
  const CacheFolder folder;
  for (const bool pairs : {false, true}) {
    CAPTURE(pairs);
    Config config = bert_config(pairs);
    config.model.options["dropout"] = 0.2;
    config.train.accumulate = 2;
    config.eval.every = 6;
    config.checkpoint.every = 4;
    const auto finish = [&](const std::string& name, std::int64_t cut) {
      return trained<MaskedToy>(config, folder.path / (name + (pairs ? "-pairs" : "")), cut)->weights();
    };
    const auto whole = finish("whole", 0);
    CHECK(finish("cut", 7) == whole);
    CHECK(finish("again", 0) == whole);
  }
}

TEST_CASE("masked training: a step of which nothing is chosen changes no gradient, and its micro-steps have no loss") {
  const CacheFolder folder;
  Config config = bert_config();
  config.train.mask_rate = 1e-9;
  MaskedToy toy(config);
  CHECK(toy.objective.step_size(1, {0, 1}).targets == 0);
  CHECK(toy.objective.step_size(1, {0, 1}).tokens == 4 * 18);
  const StepResult result = toy.step(1);
  CHECK(result.loss == 0);
  CHECK(result.grad_norm == 0);
  CHECK_FALSE(toy.objective.can_evaluate());
  const MaskedBatcher rows(toy.data.valid->view(), *toy.data.tokenizer, masked_row_options(toy.resolved, 4));
  CHECK(toy.objective.validation().missing == "no token of the validation text is chosen");
  const Evaluation nothing = evaluate(toy.model, rows, 0);
  CHECK(nothing.tokens == 0);
  CHECK(nothing.nats == 0);
  CHECK(nothing.measures.empty());
  config.data.valid_fraction = 0;
  CHECK(MaskedToy(config).objective.validation().missing == "no validation text");
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

TEST_CASE(
    "masked training: loss and accuracy come near those of forward-backward on the same masks of a Markov chain") {
  const CacheFolder folder;
  Config config = bert_config();
  config.model.options = {{"layers", std::int64_t{1}},
                          {"heads", std::int64_t{2}},
                          {"dim", std::int64_t{32}},
                          {"context", std::int64_t{10}},
                          {"init_std", 0.1}};
  config.data.corpus = "markov";
  config.data.lines = 2000;
  config.optimizer.lr = 3e-3;
  config.optimizer.options["weight_decay"] = 0.0;
  config.schedule.kind = ScheduleKind::cosine;
  config.schedule.warmup = 20;
  config.train.steps = 800;
  config.train.batch = 128;
  config.train.mask_rate = 0.3;
  MaskedToy toy(config);
  for (std::int64_t step = 1; step <= config.train.steps; ++step) toy.step(step);
  const Evaluation result = toy.objective.evaluate({});
  REQUIRE(result.measures.size() == 1);
  CHECK(result.measures[0].first == "accuracy");

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
  CHECK(result.measures[0].second == doctest::Approx(right / chosen).epsilon(0.05));
  const MaskedOptimum optimum = *corpus_masked_optimum("markov", 8, options.rates);
  CHECK(nats / chosen == doctest::Approx(optimum.nats).epsilon(0.03));  // the rows are a sample
}

TEST_CASE("masked evaluation: each chosen token of the fixed masks is scored once, in batches of any size") {
  const CacheFolder folder;
  for (const bool pairs : {false, true}) {
    CAPTURE(pairs);
    MaskedToy toy(bert_config(pairs));
    for (std::int64_t step = 1; step <= 5; ++step) toy.step(step);
    const auto rows_of = [&](std::int64_t batch) {
      return MaskedBatcher(toy.data.valid->view(), *toy.data.tokenizer, masked_row_options(toy.resolved, batch));
    };
    const MaskedBatcher single = rows_of(1);
    double nats = 0;
    std::int64_t chosen = 0;
    MaskedBatch batch;
    for (std::int64_t i = 0; i < single.batches(); ++i) {
      single.fill(i, batch);
      nats += nats_of_row(toy.model, batch, 0);
      chosen += batch.chosen;
    }
    for (const std::int64_t size : {1, 3, 64}) {
      const Evaluation result = evaluate(toy.model, rows_of(size), 0);
      CHECK(result.tokens == chosen);
      CHECK(result.nats == doctest::Approx(nats).epsilon(1e-5));
    }
    Config other = bert_config(pairs);
    other.train.seed = 9;  // the masks of an evaluation are the same
    CHECK(evaluate(toy.model,
                   MaskedBatcher(toy.data.valid->view(), *toy.data.tokenizer, masked_row_options(resolve(other), 4)), 0)
              .nats == evaluate(toy.model, rows_of(4), 0).nats);
    const Evaluation whole = toy.objective.evaluate({});
    CHECK(whole.nats == evaluate(toy.model, rows_of(4), 0).nats);
    CHECK(evaluate(toy.model, rows_of(4), 1).tokens < whole.tokens);
    CHECK(whole.measures.size() == (pairs ? 3 : 1));
    if (pairs) {
      CHECK(whole.measures[1].first == "next_sentence_loss");
      CHECK(whole.measures[1].second == doctest::Approx(std::log(2)).epsilon(0.1));
      CHECK(whole.measures[2].first == "next_sentence_accuracy");
    }
  }
}

TEST_CASE("masked evaluation: the pseudo-likelihood masks each token by itself, in batches of any size") {
  const CacheFolder folder;
  for (const bool pairs : {false, true}) {
    CAPTURE(pairs);
    MaskedToy toy(bert_config(pairs));
    for (std::int64_t step = 1; step <= 5; ++step) toy.step(step);
    const TokenView text = toy.data.valid->view();
    std::vector<std::int32_t> ids(40);
    text.copy(0, ids);
    const std::span<const std::int32_t> part = ids;
    const MaskedBatcher rows(part, *toy.data.tokenizer, masked_row_options(toy.resolved, 1));
    double nats = 0;
    std::int64_t tokens = 0;
    MaskedBatch row;
    for (std::int64_t w = 0; w < rows.windows(); ++w) {
      for (std::int64_t place = 0; place < 18; ++place) {
        rows.plain(w, row);
        if (toy.data.tokenizer->is_special(row.ids[place])) continue;
        row.targets[place] = std::exchange(row.ids[place], masked_symbols(*toy.data.tokenizer).mask);
        nats += nats_of_row(toy.model, row, 0);
        ++tokens;
      }
    }
    CHECK(tokens == 40);
    for (const std::int64_t batch : {1, 7, 100}) {
      const Evaluation result = pseudo_likelihood(toy.model, rows, batch);
      CHECK(result.tokens == 40);
      CHECK(result.nats == doctest::Approx(nats).epsilon(1e-5));
    }
  }
}

TEST_CASE("fill: the likeliest tokens of every mask, all masks read at once, and none without a mask") {
  const CacheFolder folder;
  MaskedToy toy(bert_config());
  for (std::int64_t step = 1; step <= 5; ++step) toy.step(step);
  const std::int32_t mask = masked_symbols(*toy.data.tokenizer).mask;
  const std::vector<std::int32_t> ids{1, mask, 5, 7, mask, 2};
  const std::vector<FilledMask> masks = fill_masks(toy.model, ids, mask, toy.model.vocab() + 9);
  REQUIRE(masks.size() == 2);
  CHECK(masks[0].position == 1);
  CHECK(masks[1].position == 4);
  for (const FilledMask& filled : masks) {
    REQUIRE(std::ssize(filled.candidates) == toy.model.vocab());
    double sum = 0, before = 1;
    for (const auto& candidate : filled.candidates) {
      CHECK(candidate.probability <= before);
      sum += before = candidate.probability;
      MaskedBatch row;
      row.rows = 1, row.length = 6, row.ids = ids, row.lengths = {6};
      row.targets.assign(6, kIgnoredTarget);
      row.targets[filled.position] = candidate.id;
      CHECK(std::exp(-nats_of_row(toy.model, row, 0)) == doctest::Approx(candidate.probability).epsilon(1e-4));
    }
    CHECK(sum == doctest::Approx(1));
  }
  CHECK(fill_masks(toy.model, ids, mask, 3)[0].candidates.size() == 3);
  CHECK(fill_masks(toy.model, std::vector<std::int32_t>{1, 2}, mask, 3).empty());
  toy.model.named_parameters().front().variable.value().fill(NAN);
  CHECK_THROWS_WITH_AS(fill_masks(toy.model, ids, mask, 3), "the model's predictions are not finite numbers", Error);
}

TEST_CASE("masked training: what it is not made for is refused") {
  const auto refused = [](const std::string& key, const KeyValue& value, const std::string& message) {
    Config config = bert_config();
    config.model.options[key] = value;
    CHECK_THROWS_WITH_AS(resolve(config), message.c_str(), UsageError);
  };
  refused("next_sentence", true, "model.next_sentence: expected model.segments = 2 beside it, got 1");
  refused("context", std::int64_t{4},
          "model.context: expected at least 8 for bert, whose rows have [CLS] and [SEP], got 4");
  Config config = bert_config();
  config.eval.stride = 8;
  CHECK_THROWS_WITH_AS(resolve(config),
                       "eval.stride: expected 0 or model.context, which is 18, for bert, whose windows do not overlap, "
                       "got 8",
                       UsageError);
  config = bert_config();
  config.train.mask_random = 0.3;
  CHECK_THROWS_WITH_AS(resolve(config),
                       "train.mask_random: expected at most 0.2, since train.mask_token is 0.8, got 0.3", UsageError);
  config = bert_config();
  config.train.mask_rate = 0;
  CHECK_THROWS_WITH_AS(resolve(config), "train.mask_rate: expected 0 < value <= 1, got 0.0", UsageError);
  Config gpt;
  gpt.train.mask_rate = 0.3;
  CHECK_THROWS_WITH_AS(resolve(gpt), "train.mask_rate: expected 0.15 for gpt, which masks no tokens, got 0.3",
                       UsageError);
  gpt = {};
  gpt.train.mask_token = 1;
  CHECK_THROWS_WITH_AS(resolve(gpt), "train.mask_token: expected 0.8 for gpt, which masks no tokens, got 1",
                       UsageError);
  gpt = {};
  gpt.train.mask_random = 0;
  CHECK_THROWS_WITH_AS(resolve(gpt), "train.mask_random: expected 0.1 for gpt, which masks no tokens, got 0",
                       UsageError);
  config = bert_config();
  config.data.corpus = "";
  config.data.pairs = "pairs.tsv";
  CHECK_THROWS_WITH_AS(resolve(config), "model.type: bert trains on data.text or data.corpus, got data.pairs",
                       UsageError);
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

TEST_CASE("masked training: a step leaves no memory in use") {
  const CacheFolder folder;
  Config config = bert_config(true);
  config.model.options["dropout"] = 0.2;
  config.train.accumulate = 2;
  MaskedToy toy(config);
  toy.step(1), toy.step(2);
  const MemoryStats first = memory_stats();
  for (std::int64_t step = 3; step <= 12; ++step) {  // each with another number of chosen tokens
    toy.step(step);
    CHECK(memory_stats().in_use == first.in_use);
  }
}

TEST_CASE("masked training: next-sentence prediction tells segments that follow each other from others") {
  const CacheFolder folder;
  Config config = bert_config(true);
  // Stretches of one letter each: whether both segments have the same one says nearly all.
  std::string text;
  RandomStream random(RandomKey{.seed = 2});
  for (int stretch = 0; stretch < 400; ++stretch) text += std::string(200, static_cast<char>('a' + random.below(4)));
  folder.write("text.txt", text);
  config.data.corpus = "";
  config.data.text = {(folder.path / "text.txt").string()};
  config.optimizer.lr = 2e-3;
  config.optimizer.options["beta2"] = 0.99;
  config.train.batch = 32;
  config.train.steps = 300;
  config.model.options["init_std"] = 0.1;
  config.model.options["dim"] = std::int64_t{64};
  config.model.options["heads"] = std::int64_t{4};
  MaskedToy toy(config);
  for (std::int64_t step = 1; step <= config.train.steps; ++step) toy.step(step);
  const Evaluation result = toy.objective.evaluate({});
  REQUIRE(result.measures.size() == 3);
  CHECK(result.measures[2].second > 0.75);  // a quarter of the others has the same letter by chance
  CHECK(result.measures[1].second < 0.5);
}
