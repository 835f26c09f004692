// Training and evaluation of text encoders: bidirectional language models.
#include <doctest/doctest.h>

#include <cmath>

#include "tasks/bidirectional_language_model/bidirectional_evaluation.h"
#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

Config bilm_config(const std::string& cell = "lstm") {
  return toy_config_of(
      "bilm", {{"cell", cell}, {"layers", std::int64_t{2}}, {"dim", std::int64_t{12}}, {"context", std::int64_t{16}}});
}

// Σ −ln P of each direction over the tokens [begin, end) as one row.
std::vector<double> nats_of_row(const BidirectionalLanguageModel& model, TokenView tokens, std::int64_t begin,
                                std::int64_t end) {
  std::vector<std::int32_t> ids(end - begin);
  tokens.copy(begin, ids);
  Tape tape(no_grad);
  const Tensor row = Tensor::from(std::span<const std::int32_t>(ids), {1, end - begin});
  std::vector<double> nats;
  for (const TokenPrediction& p : model.predictions({Variable::constant(tape, row)})) {
    nats.push_back(model.loss(p.features, p.targets, {.normalizer = 1}).value().item());
  }
  return nats;
}

}  // namespace

TEST_CASE("encoder training: 1×8, 2×4 and 8×1 give the same losses and gradients") {
  const CacheFolder folder;
  for (const double smoothing : {0.0, 0.1}) {
    Config config = bilm_config();
    config.optimizer.lr = 0;
    config.train.label_smoothing = smoothing;
    std::vector<float> gradient;
    StepResult whole;
    for (const std::int64_t accumulate : {1, 2, 8}) {
      CAPTURE(accumulate);
      config.train.accumulate = accumulate;
      config.train.batch = 8 / accumulate;
      EncoderToy toy(config);
      CHECK(toy.objective.step_size(1, {0, accumulate}).targets == 8 * 16);
      const StepResult result = toy.step(3);
      const std::vector<float> got = toy.slab.gradients().to_vector<float>();
      if (accumulate == 1) {
        gradient = got, whole = result;
        CHECK(whole.loss == doctest::Approx(std::log(toy.model.vocab())).epsilon(0.1));  // nats per token
        continue;
      }
      CHECK(result.loss == doctest::Approx(whole.loss).epsilon(1e-6));
      if (smoothing > 0) CHECK(*result.nll_loss == doctest::Approx(*whole.nll_loss).epsilon(1e-6));
      CHECK(norm_of_difference(got, gradient) <= 1e-5 * result.grad_norm);
    }
  }
}

TEST_CASE("encoder training: a run that was cut in two has the weights of one that was not") {
  const CacheFolder folder;
  for (const char* cell : {"lstm", "gru"}) {
    CAPTURE(cell);
    Config config = bilm_config(cell);
    config.model.options["dropout"] = 0.2;
    config.model.options["residual"] = true;
    config.train.accumulate = 2;
    config.eval.every = 6;
    config.checkpoint.every = 4;
    const auto finish = [&](const std::string& name, std::int64_t cut) {
      return trained<EncoderToy>(config, folder.path / (name + cell), cut)->weights();
    };
    const auto whole = finish("whole", 0);
    CHECK(finish("cut", 7) == whole);
    CHECK(finish("again", 0) == whole);
  }
}

TEST_CASE("encoder training: after the first steps it asks the system for no memory") {
  const CacheFolder folder;
  Config config = bilm_config();
  config.model.options["dropout"] = 0.2;
  config.train.accumulate = 2;
  EncoderToy toy(config);
  check_steady_memory(toy);
}

TEST_CASE("encoder training: both directions come near the entropy rate of a Markov chain") {
  const CacheFolder folder;
  Config config = bilm_config();
  config.model.options["layers"] = std::int64_t{1};
  config.model.options["dim"] = std::int64_t{32};
  config.model.options["context"] = std::int64_t{32};
  config.data.corpus = "markov";
  config.data.lines = 2000;
  config.optimizer.lr = 0.01;
  config.optimizer.options["weight_decay"] = 0.0;
  config.schedule.kind = ScheduleKind::cosine;
  config.schedule.warmup = 20;
  config.train.steps = 300;
  config.train.batch = 16;
  EncoderToy toy(config);
  for (std::int64_t step = 1; step <= config.train.steps; ++step) toy.step(step);
  const Evaluation result = toy.objective.evaluate({});
  REQUIRE(result.parts.size() == 2);
  for (const Evaluation::Part& part : result.parts) {
    CAPTURE(part.name);
    CHECK(result.part(part).loss() < corpus_entropy("markov").value() + 0.03);
    CHECK(result.part(part).loss() > corpus_entropy("markov").value() - 0.02);  // of this sample of the chain
  }
}

TEST_CASE("encoder evaluation: windows score each token but the first forward, and each but the last backward, once") {
  const CacheFolder folder;
  EncoderToy toy(bilm_config());
  for (std::int64_t step = 1; step <= 5; ++step) toy.step(step);
  const TokenView text = toy.data.valid->view();
  const std::int64_t targets = text.size() - 1;
  for (const std::int64_t context : {std::int64_t{1}, std::int64_t{7}, std::int64_t{16}, targets, targets + 9}) {
    CAPTURE(context);
    double forward = 0, backward = 0;
    for (std::int64_t begin = 0; begin < targets; begin += context) {
      const std::vector<double> nats = nats_of_row(toy.model, text, begin, std::min(begin + context + 1, text.size()));
      forward += nats[0], backward += nats[1];
    }
    const Evaluation result = evaluate(toy.model, text, {.context = context, .batch = 5});
    CHECK(result.tokens == targets);
    REQUIRE(result.parts.size() == 2);
    CHECK(result.parts[0].name == "forward");
    CHECK(result.parts[0].nats == doctest::Approx(forward).epsilon(1e-5));
    CHECK(result.parts[1].nats == doctest::Approx(backward).epsilon(1e-5));
    CHECK(result.nats == doctest::Approx((forward + backward) / 2).epsilon(1e-5));
  }
  CHECK(toy.objective.evaluate({}).nats == evaluate(toy.model, text, {.context = 16, .batch = 4}).nats);
  CHECK_THROWS_WITH_AS(evaluate(toy.model, text, {.context = 16, .stride = 8}),
                       "stride: expected 0 or 16 (the context), since the windows of a text encoder do not overlap, "
                       "got 8",
                       UsageError);
}

TEST_CASE("encoder training: what it is not made for is refused") {
  Config config = bilm_config();
  config.eval.stride = 8;
  CHECK_THROWS_WITH_AS(resolve(config),
                       "eval.stride: expected 0 or model.context, which is 16, for bilm, whose windows do not overlap, "
                       "got 8",
                       UsageError);
  config = bilm_config();
  config.train.recompute = true;
  CHECK_THROWS_WITH_AS(resolve(config),
                       "train.recompute: expected false for bilm, which has no blocks to compute again, got true",
                       UsageError);
  config = bilm_config();
  config.train.bptt = 16;
  CHECK_THROWS_WITH_AS(resolve(config),
                       "train.bptt: expected 0 for bilm, which carries no state from row to row, got 16", UsageError);
  config = bilm_config();
  config.data.corpus = "";
  config.data.pairs = "pairs.tsv";
  CHECK_THROWS_WITH_AS(resolve(config), "model.type: bilm trains on data.text or data.corpus, got data.pairs",
                       UsageError);
}
