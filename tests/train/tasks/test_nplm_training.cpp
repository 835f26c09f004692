// Training of the feed-forward language model.
#include <doctest/doctest.h>

#include "generate/generator.h"
#include "tasks/common/load_run.h"
#include "tasks/text/text_evaluation.h"
#include "tests/train/toy.h"

using namespace tapeformer;

TEST_CASE("nplm training: it generates as it scores") {
  const CacheFolder folder;
  trained(nplm_config(), folder.path / "run");
  const TrainedLanguageModel run = load_run<TrainedLanguageModel>(folder.path / "run");
  const std::vector<std::int32_t> prompt = run.tokenizer->encode("The");
  const auto text = generate(*run.model, prompt, {.sampling = {.temperature = 0}, .tokens = 20});
  CHECK(text.size() == 20);
  CHECK(text == generate(*run.model, prompt, {.sampling = {.temperature = 0}, .tokens = 20, .use_cache = false}));
}

TEST_CASE("nplm training: a text that is too short is refused without a word about a key that the family lacks") {
  const CacheFolder folder;
  Config config = nplm_config();
  remove_corpus(config), config.data.text = {folder.write("short.txt", "ab").string()};
  config.data.valid_fraction = 0;
  CHECK_THROWS_WITH_AS(Toy{config}, "the training text has 2 tokens: a row's length = 128 takes at least 129", Error);
}

TEST_CASE("nplm training: documents are refused") {
  const CacheFolder folder;
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
  learn_quickly(config, {.lines = 4000, .steps = 400, .warmup = 2});
  Toy toy(config);
  toy.steps(1, config.train.steps);
  const Evaluation result = toy.objective.evaluate({});
  // The validation text is a sample, of about 5,000 letters: the loss of the chain itself on it differs from the rate.
  const double rate = *corpus_entropy("markov");
  CHECK(result.loss() < rate + 0.03);
  CHECK(result.loss() > rate - 0.03);
}
