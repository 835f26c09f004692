// Training and evaluation of word vectors, and what they are at the optimum.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "core/parallel.h"
#include "tasks/glove/glove_objective.h"
#include "tasks/skip_gram/skip_gram_evaluation.h"
#include "tests/long_test.h"
#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sa += a[i], sb += b[i], aa += a[i] * a[i], bb += b[i] * b[i], ab += a[i] * b[i];
  }
  return (ab - sa * sb / n) / std::sqrt((aa - sa * sa / n) * (bb - sb * sb / n));
}

}  // namespace

TEST_CASE("skip-gram training: a step scores every pair in a window, and begins with the loss of a guess") {
  const CacheFolder folder;
  SkipGramToy toy(word2vec_config());
  CHECK(toy.objective.step_size(3, {0, 2}).targets == 2 * 4 * 8 * 10);
  CHECK(toy.objective.step_size(3, {0, 2}).tokens == 2 * 4 * 8);
  CHECK(toy.step(3).loss == doctest::Approx(6 * std::numbers::ln2).epsilon(1e-6));
}

TEST_CASE("skip-gram training: any number of threads gives the same weights") {
  const CacheFolder folder;
  const int before = thread_count();
  const auto weights = [](int threads) {
    set_thread_count(threads);
    SkipGramToy toy(word2vec_config());
    toy.steps(1, 10);
    return toy.weights();
  };
  const std::vector<float> expected = weights(1);
  CHECK(weights(3) == expected);
  set_thread_count(before);
}

TEST_CASE("skip-gram evaluation: every pair counts once, in batches of any size, and training comes to learn them") {
  const CacheFolder folder;
  Config config = word2vec_config();
  config.optimizer.lr = 5e-2;
  SkipGramToy toy(config);
  const Evaluation first = toy.objective.evaluate({});
  CHECK(first.loss() == doctest::Approx(6 * std::numbers::ln2).epsilon(1e-6));
  CHECK(first.tokens == 10 * (toy.data.valid->size() - 10));
  toy.steps(1, 60);
  const Evaluation trained = toy.objective.evaluate({});
  CHECK(trained.loss() < 0.8 * first.loss());
  const auto scored = [&](std::int64_t batch, std::int64_t batches = 0) {
    const SkipGramBatcher pairs(toy.data.valid->view(), toy.model.vocab(), skip_gram_options(toy.resolved, batch));
    return evaluate(toy.model, pairs, batches);
  };
  CHECK(scored(4).nats == trained.nats);
  for (const std::int64_t batch : {1, 100}) {
    CHECK(scored(batch).tokens == trained.tokens);
    CHECK(scored(batch).nats == doctest::Approx(trained.nats).epsilon(1e-6));
  }
  CHECK(scored(1, 2).tokens == 2 * 8 * 10);
}

TEST_CASE("skip-gram training: a text without validation pairs is told, and keys that have no meaning are refused") {
  const CacheFolder folder;
  Config config = word2vec_config();
  config.data.valid_fraction = 0;
  CHECK(SkipGramToy(config).objective.validation().missing == "no validation text");
  config.data.valid_fraction = 0.003;
  const SkipGramToy toy(config);
  CHECK_FALSE(toy.objective.can_evaluate());
  CHECK(toy.objective.validation().missing == "the validation text is shorter than one window");
  CHECK(toy.objective.facts().description.back() ==
        "the loss is in nats per pair of a token and one at most 5 from it, against 5 that are drawn");
  check_refused(word2vec_config(), "train.label_smoothing", "0.1",
                "train.label_smoothing: expected 0 for word2vec, which has no softmax, got 0.1");
  check_refused(word2vec_config(), "train.z_loss", "0.1",
                "train.z_loss: expected 0 for word2vec, which has no softmax, got 0.1");
  check_refused(
      word2vec_config(), "eval.stride", "4",
      "eval.stride: expected 0 or model.context, which is 8, for word2vec, whose windows do not overlap, got 4");
  Config documents = word2vec_config();
  documents.data.within_document = true;
  documents.data.document = DocumentEnd::line;
  CHECK_THROWS_WITH_AS(SkipGramToy{documents},
                       "data.within_document: expected false for word2vec, which reads on where a document ends, got "
                       "true",
                       UsageError);
}

TEST_CASE("cbow training: it learns, and says what predicts what") {
  const CacheFolder folder;
  Config config = word2vec_config();
  config.model.options["architecture"] = std::string("cbow");
  config.optimizer.lr = 5e-2;
  SkipGramToy toy(config);
  CHECK(toy.objective.step_size(3, {0, 2}).targets == 2 * 4 * 8);
  CHECK(toy.objective.facts().description.back() ==
        "the loss is in nats per pair of a token and the mean of those at most 5 from it, against 5 that are drawn");
  const Evaluation first = toy.objective.evaluate({});
  CHECK(first.loss() == doctest::Approx(6 * std::numbers::ln2).epsilon(1e-6));
  CHECK(first.tokens == toy.data.valid->size() - 10);
  toy.steps(1, 60);
  CHECK(toy.objective.evaluate({}).loss() < 0.8 * first.loss());
}

TEST_CASE(
    "glove training: it comes to fit ln X, whatever the batch, and the size of the scored text has no influence") {
  const CacheFolder folder;
  Config config = glove_config();
  config.data.corpus = "relations", config.data.lines = 3000;
  config.model.options = {{"dim", std::int64_t{16}}, {"window", std::int64_t{4}}, {"context", std::int64_t{64}}};
  config.optimizer.lr = 2e-2, config.schedule.kind = ScheduleKind::cosine, config.train.steps = 600;
  config.train.batch = 8;
  ToyOf<GloveObjective> toy(config);
  const std::vector<Cooccurrence> pairs = count_cooccurrences(toy.data.train.view(), toy.model.vocab(), 4);
  const GloveWeighting weighting = glove_weighting(toy.resolved);
  const auto fit = [&](std::span<const Cooccurrence> scored, std::int64_t batch, std::int64_t batches = 0) {
    return evaluate(toy.model, scored, weighting, batch, batches);
  };
  const GloveFit before = fit(pairs, 512);
  toy.steps(1, 600);
  const GloveFit after = fit(pairs, 512);
  CHECK(after.evaluation.tokens == std::ssize(pairs));
  CHECK(after.frequent == std::ranges::count_if(pairs, [](const Cooccurrence& pair) { return pair.count >= 100; }));
  CHECK(after.frequent > 100);
  CHECK(after.evaluation.metrics.at(0).second > 0.99);
  CHECK(before.evaluation.metrics.at(0).second < 0.9);
  CHECK(after.evaluation.loss() < 0.1 * before.evaluation.loss());
  CHECK(fit(pairs, 100).evaluation.nats == doctest::Approx(after.evaluation.nats).epsilon(1e-6));
  // The pairs of some batches are chosen evenly: the first ones are those of a few tokens alone.
  std::vector<Cooccurrence> some;
  for (std::int64_t k = 0; k < 200; ++k) some.push_back(pairs[k * std::ssize(pairs) / 200]);
  REQUIRE(some.back().i > pairs[199].i);
  CHECK(fit(pairs, 100, 2).evaluation.tokens == 200);
  CHECK(fit(pairs, 100, 2).evaluation.nats == doctest::Approx(fit(some, 100).evaluation.nats).epsilon(1e-9));
  // The weights are 1 in both, and ln X differs by a constant.
  std::vector<Cooccurrence> frequent, larger;
  std::ranges::copy_if(pairs, std::back_inserter(frequent), [](const Cooccurrence& pair) { return pair.count >= 100; });
  larger = frequent;
  for (Cooccurrence& pair : larger) pair.count *= 7;
  CHECK(fit(larger, 512).evaluation.nats == doctest::Approx(fit(frequent, 512).evaluation.nats).epsilon(1e-6));
}

TEST_CASE("word2vec: with dim ≥ V and negatives by frequency, u·v is PMI − ln k on the pairs that are frequent" *
          long_test()) {
  const CacheFolder folder;
  constexpr std::int64_t kNegatives = 2;
  Config config = word2vec_config();
  config.model.options = {{"dim", std::int64_t{16}},
                          {"window", std::int64_t{1}},
                          {"negatives", kNegatives},
                          {"negative_power", 1.0},
                          {"context", std::int64_t{256}}};
  config.tokenizer.kind = TokenizerKind::character;
  learn_quickly(config, {.lines = 1500, .steps = 500, .batch = 8, .warmup = 2, .lr = 3e-2});
  SkipGramToy toy(config);
  toy.steps(1, config.train.steps);

  // The counts of the pairs that training draws from.
  const TokenView text = toy.data.train.view();
  std::vector<std::int32_t> ids(text.size());
  text.copy(0, ids);
  const std::int64_t vocab = toy.model.vocab();
  REQUIRE(vocab <= 16);
  std::vector<double> pairs(vocab * vocab), tokens(vocab);
  for (std::size_t i = 0; i < ids.size(); ++i) ++tokens[ids[i]];
  for (std::size_t i = 1; i + 1 < ids.size(); ++i) {
    ++pairs[ids[i] * vocab + ids[i - 1]], ++pairs[ids[i] * vocab + ids[i + 1]];
  }
  const auto size = static_cast<double>(ids.size());
  const std::map<std::string, Tensor> state = toy.model.state_dict();
  const float *v = state.at("token_embedding.weight").data<float>(),
              *u = state.at("context_embedding.weight").data<float>();
  std::vector<double> scores, expected;
  double error = 0;
  for (std::int64_t c = 0; c < vocab; ++c) {
    for (std::int64_t o = 0; o < vocab; ++o) {
      const double count = pairs[c * vocab + o];
      if (count < 100) continue;
      double score = 0;
      for (std::int64_t k = 0; k < 16; ++k) score += double{u[o * 16 + k]} * v[c * 16 + k];
      scores.push_back(score);
      expected.push_back(std::log(count * size / (2 * tokens[c] * tokens[o])) - std::log(kNegatives));
      error = std::max(error, std::abs(score - expected.back()));
    }
  }
  CHECK(scores.size() > 60);
  CHECK(correlation(scores, expected) > 0.99);
  CHECK(error < 0.2);
}
