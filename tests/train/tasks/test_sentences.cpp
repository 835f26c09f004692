// Sentence vectors: the loss and the evaluation by hand, and what training makes of them.
#include <doctest/doctest.h>

#include <cmath>

#include "tasks/analysis/text_vectors.h"
#include "tasks/sentences/sentence_objective.h"
#include "tests/train/tasks/task_toy.h"
#include "train/loop/dry_run.h"

using namespace tapeformer;

namespace {

using SentenceToy = ToyOf<SentenceObjective>;

// By words, on lines of the corpus paraphrases.
Config paraphrases_config() {
  Config config = sentences_config();
  config.tokenizer.kind = TokenizerKind::word;
  config.model.options["context"] = std::int64_t{32};
  config.data.corpus = "paraphrases", config.data.lines = 500;
  config.optimizer.lr = 1e-2;
  config.train.batch = 16, config.train.steps = 60;
  return config;
}

}  // namespace

TEST_CASE("sentences: the loss is −ln softmax of the cosines over τ, of each pair against all") {
  Tape tape(no_grad);
  const std::vector<double> u{1, 0, 0, 1}, v{0.6, 0.8, 1, 0, 0, -1};
  const auto constant = [&](const std::vector<double>& values, const Dims& sizes) {
    return Variable::constant(tape, Tensor::from(std::span<const double>(values), sizes));
  };
  const double loss = contrastive_loss(constant(u, {2, 2}), constant(v, {3, 2}), 1, 0.5, 4).value().item();
  const auto nats = [](double right, double a, double b, double c) {
    return std::log(std::exp(a / 0.5) + std::exp(b / 0.5) + std::exp(c / 0.5)) - right / 0.5;
  };
  // The pairs are the second and the third v.
  CHECK(loss == doctest::Approx((nats(1, 0.6, 1, 0) + nats(-1, 0.8, 0, -1)) / 4).epsilon(1e-13));
  // The same sentence in another pair is no negative: the first v is none of the first pair.
  const std::vector<std::string_view> texts{"one", "one", "two"};
  const double without = contrastive_loss(constant(u, {2, 2}), constant(v, {3, 2}), 1, 0.5, 4, texts).value().item();
  const double first = std::log(std::exp(1 / 0.5) + std::exp(0 / 0.5)) - 1 / 0.5;
  CHECK(without == doctest::Approx((first + nats(-1, 0.8, 0, -1)) / 4).epsilon(1e-13));
}

TEST_CASE("sentences: a pair that is twice in a step is no negative of itself") {
  const CacheFolder folder;
  Config config = sentences_config();
  remove_corpus(config), config.data.valid_fraction = 0;
  config.data.pairs = folder.write("pairs.tsv", "ab\tba\nbb\taa\n").string();
  config.model.options["dropout"] = 0.0;
  config.task.temperature = 1;
  config.train.batch = 2;
  const double once = SentenceToy(config).step(1).loss;
  config.train.batch = 4;  // both pairs, twice
  const double twice = SentenceToy(config).step(1).loss;
  // The other pair counts twice, ln (e^a + 2e^b)/(e^a + e^b) more with cosines a and b; if the own did, it were ln 2.
  CHECK(twice > once);
  CHECK(twice < once + std::log((1 + 2 * std::exp(2)) / (1 + std::exp(2))) + 1e-5);
}

TEST_CASE("sentences: a vector is the mean that embed gives, divided by its length, whatever is beside it") {
  const CacheFolder folder;
  const auto toy = trained<SentenceToy>(paraphrases_config(), folder.path / "run");
  const TrainedEmbedder run = load_run<TrainedEmbedder>(folder.path / "run");
  const std::vector<SentencePair> pairs{{"One day Ada laughed.", "The barn."}};
  const std::vector<SentenceRows> rows = encode_sentences(pairs, "pairs", *run.tokenizer, run);
  const SentenceRow* const both[] = {&rows[0].first, &rows[0].second};
  Tape tape(no_grad);
  const Tensor vectors = unit_vectors(tape, *run.model, both).value();
  for (const bool second : {false, true}) {
    const std::vector<float> mean =
        text_vectors(run, second ? pairs[0].target : pairs[0].source).vectors.to_vector<float>();
    double norm = 0;
    for (const float x : mean) norm += double{x} * x;
    const std::vector<float> found = vectors.slice(0, second, second + 1).contiguous().to_vector<float>();
    for (std::size_t i = 0; i < mean.size(); ++i)
      CHECK(found[i] == doctest::Approx(mean[i] / std::sqrt(norm)).epsilon(1e-4));
  }
  // A sentence that several pairs have is found, whichever of them it is taken from.
  const std::vector<SentencePair> repeated{
      {"The barn.", "The barn."}, {"One day Ada laughed.", "One day Ada laughed."}, {"The barn.", "The barn."}};
  const std::vector<SentenceRows> repeated_rows = encode_sentences(repeated, "pairs", *run.tokenizer, run);
  const Evaluation found = evaluate(*run.model, repeated_rows, 0.05, 2);
  CHECK(measure(found, "accuracy") == 1);
  const Evaluation of_two = evaluate(*run.model, std::span(repeated_rows).first(2), 0.05, 2);
  CHECK(found.nats < 2 * of_two.nats + 1e-4);  // no ln 2 of a sentence that is its own negative
}

TEST_CASE("sentences: training comes to find the paraphrases, and leaves the head of masked tokens alone") {
  const CacheFolder folder;
  SentenceToy toy(paraphrases_config());
  const auto head = [&] { return toy.model.state_dict().at("head.transform.weight").to_vector<float>(); };
  const std::vector<float> head_before = head();
  const Evaluation before = toy.objective.evaluate({});
  CHECK(before.tokens == 50);
  CHECK(before.cost() == doctest::Approx(1 - measure(before, "accuracy")));
  toy.steps(1, 60);
  const Evaluation after = toy.objective.evaluate({});
  CHECK(measure(after, "accuracy") > 0.9);
  CHECK(measure(after, "accuracy") > measure(before, "accuracy"));
  CHECK(after.loss() < 0.5 * before.loss());
  CHECK(head() == head_before);
}

TEST_CASE("sentences: a dry run makes no step of a pair alone, neither by its micro-steps nor by smaller ones") {
  const CacheFolder folder;
  const DataReader read = [](const ResolvedConfig& with) { return with.task_row().dummy(with, nullptr); };
  Config config = sentences_config();
  config.train.batch = 1, config.train.accumulate = 2;
  CHECK(dry_run(resolve(config), read, {.seconds = 1e-3}).step_seconds > 0);
  config.train.batch = 5, config.train.accumulate = 1;
  CHECK(dry_run(resolve(config), read, {.seconds = 1e-3, .expected_micro_seconds = 1}).scaled);
}

TEST_CASE("sentences: keys that have no meaning, and data that does not fit, are refused in one line") {
  const CacheFolder folder;
  const Config config = sentences_config();
  check_refused(config, "train.label_smoothing", "0.1",
                "train.label_smoothing: expected 0 beside task.kind = sentences, got 0.1");
  check_refused(config, "task.freeze", "true", "task.freeze: expected false beside task.kind = sentences, got true");
  check_refused(config, "task.dropout", "0.2", "task.dropout: expected 0.1 beside task.kind = sentences, got 0.2");
  check_refused(config, "train.batch", "1",
                "train.batch: expected at least 2 pairs in a step of task.kind = sentences, got 1");
  Config plain = config;
  plain.data.corpus = "stories";
  CHECK_THROWS_WITH_AS(
      SentenceToy{plain},
      "data.corpus: expected pairs of sentences for task.kind = sentences, got stories, which is plain text",
      UsageError);
  remove_corpus(plain), plain.data.text = {"a.txt"};
  CHECK_THROWS_WITH_AS(resolve(plain),
                       "task.kind: sentences trains on data.pairs, or on a corpus of pairs, got data.text", UsageError);
  Config of_file = config;
  remove_corpus(of_file), of_file.data.valid_fraction = 0;
  of_file.data.pairs = folder.write("pairs.tsv", "ab\tba\n\ncd\t\n").string();
  CHECK_THROWS_WITH_AS(SentenceToy{of_file},
                       (of_file.data.pairs + ": pair 3: expected two sentences, got one without tokens").c_str(),
                       Error);
  of_file.data.valid_fraction = 0.5;
  of_file.data.pairs = folder.write("held-out.tsv", "ab\tba\nba\tab\nab\tba\ncd\t\n").string();
  CHECK_THROWS_WITH_AS(SentenceToy{of_file},
                       (of_file.data.pairs + ": pair 4: expected two sentences, got one without tokens").c_str(),
                       Error);
  of_file.data.valid_fraction = 0;
  of_file.data.pairs = folder.write("long.tsv", "ab\tba\naaaaaaaaaaaaaaaaa\tb\n").string();
  CHECK_THROWS_WITH_AS(
      SentenceToy{of_file},
      (of_file.data.pairs + ": pair 2: a sentence has 19 tokens, special ones included: the model reads at most 18")
          .c_str(),
      Error);
}
