// Training and evaluation of text encoders: bidirectional language models.
#include <doctest/doctest.h>

#include <cmath>

#include "tasks/bidirectional_language_model/bidirectional_evaluation.h"
#include "tests/long_test.h"
#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

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

TEST_CASE("encoder training: a step scores every token of its rows, and begins with the loss of a guess") {
  const CacheFolder folder;
  EncoderToy toy(bilm_config());
  CHECK(toy.objective.step_size(1, {0, 1}).targets == 4 * 16);
  CHECK(toy.step(1).loss == doctest::Approx(std::log(toy.model.vocab())).epsilon(0.1));  // nats per token
}

TEST_CASE("encoder training: both directions come near the entropy rate of a Markov chain" * long_test()) {
  const CacheFolder folder;
  Config config = bilm_config();
  config.model.options["layers"] = std::int64_t{1};
  config.model.options["dim"] = std::int64_t{32};
  config.model.options["context"] = std::int64_t{32};
  learn_quickly(config, {});
  EncoderToy toy(config);
  toy.steps(1, config.train.steps);
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
  toy.steps(1, 5);
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
                       "--stride: expected 0 or 16 (the context), since the windows of a text encoder do not overlap, "
                       "got 8",
                       UsageError);
}

TEST_CASE("encoder training: what it is not made for is refused") {
  check_refused(bilm_config(), "eval.stride", "8",
                "eval.stride: expected 0 or model.context, which is 16, for bilm, whose windows do not overlap, got 8");
  check_refused(bilm_config(), "train.recompute", "true",
                "train.recompute: expected false for bilm, which has no blocks to compute again, got true");
  check_refused(bilm_config(), "train.bptt", "8",
                "train.bptt: expected 0 for bilm, which carries no state from row to row, got 8");
  Config pairs = bilm_config();
  remove_corpus(pairs);
  check_refused(pairs, "data.pairs", "pairs.tsv",
                "model.type: bilm trains on data.text or data.corpus, got data.pairs");
}
