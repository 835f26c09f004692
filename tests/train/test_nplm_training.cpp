// Training of the feed-forward language model.
#include <doctest/doctest.h>

#include "generate/generator.h"
#include "tasks/common/load_run.h"
#include "tasks/text/text_evaluation.h"
#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

Config nplm_config() {
  Config config = toy_config_of(
      "nplm",
      {{"order", std::int64_t{4}}, {"embedding_dim", std::int64_t{6}}, {"dim", std::int64_t{10}}, {"dropout", 0.1}});
  config.data.lines = 40;
  return config;
}

}  // namespace

TEST_CASE("nplm training: a run that was cut in two has the weights of one that was not, and generates as it scores") {
  const CacheFolder folder;
  Config config = nplm_config();
  config.train.accumulate = 2;
  config.eval.every = 6;
  config.checkpoint.every = 4;
  const auto finish = [&](const std::string& name, std::int64_t cut) {
    return trained<Toy>(config, folder.path / name, cut)->weights();
  };
  CHECK(finish("cut", 7) == finish("whole", 0));

  const TrainedLanguageModel run = load_run<TrainedLanguageModel>(folder.path / "whole");
  const std::vector<std::int32_t> prompt = run.tokenizer->encode("The");
  const auto text = generate(*run.model, prompt, {.sampling = {.temperature = 0}, .tokens = 20});
  CHECK(text.size() == 20);
  CHECK(text == generate(*run.model, prompt, {.sampling = {.temperature = 0}, .tokens = 20, .use_cache = false}));
}

TEST_CASE("nplm training: steps after the second one ask the system for no memory, and documents are refused") {
  const CacheFolder folder;
  Toy toy(nplm_config());
  check_steady_memory(toy);
  Config config = nplm_config();
  config.data.within_document = true;
  config.data.document = DocumentEnd::line;
  CHECK_THROWS_WITH_AS(Toy{config},
                       "data.within_document: expected false for nplm, which reads on where a document ends, got true",
                       UsageError);
}

TEST_CASE("nplm: with n = 2 its loss comes to the entropy rate of a Markov chain") {
  const CacheFolder folder;
  Config config = nplm_config();
  config.model.options = {{"order", std::int64_t{2}}, {"embedding_dim", std::int64_t{8}}, {"dim", std::int64_t{16}}};
  config.data.corpus = "markov";
  config.data.lines = 4000;
  config.optimizer.lr = 1e-2;
  config.optimizer.options["weight_decay"] = 0.0;
  config.schedule.kind = ScheduleKind::cosine;
  config.train.steps = 400;
  config.train.batch = 16;
  Toy toy(config);
  for (std::int64_t step = 1; step <= config.train.steps; ++step) toy.step(step);
  const Evaluation result = toy.objective.evaluate({});
  // The validation text is a sample, of about 5,000 letters: the loss of the chain itself on it differs from the rate.
  const double rate = *corpus_entropy("markov");
  CHECK(result.loss() < rate + 0.03);
  CHECK(result.loss() > rate - 0.03);
}
