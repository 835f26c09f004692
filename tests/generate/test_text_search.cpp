// Beam search over models that read no source, against searches written out plainly.
#include <set>

#include "generate/generator.h"
#include "nn/models/gpt.h"
#include "nn/models/nplm.h"
#include "nn/models/rnn.h"
#include "tests/generate/search_support.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kLetters = 4, kTextContext = 8;
constexpr std::int32_t kEnd = 2;
const Ids kBeginning = {3, 1, 0};

// Random weights, by which predictions are neither flat nor certain.
void randomize(const Module& model, std::uint64_t seed) {
  std::uint64_t stream = 0;
  for (const NamedParameter& parameter : model.named_parameters()) {
    initialize(parameter.variable.value(), Init::normal(0.7), RandomKey{.seed = seed, .stream = stream++});
  }
}

GptConfig gpt_of(const PositionConfig& position, DType dtype) {
  GptConfig config;
  config.vocab = kLetters, config.context = kTextContext, config.layers = 2, config.position = position;
  config.block = {.dim = 8, .heads = 2, .ff_dim = 16, .dropout = 0.5, .dtype = dtype};
  return config;
}

// A gpt of each kind of positions, an rnn of each cell, and an nplm.
std::vector<std::unique_ptr<CausalModel>> models_of(DType dtype, std::uint64_t seed) {
  std::vector<std::unique_ptr<CausalModel>> models;
  for (const PositionConfig& position : {PositionConfig(LearnedPositions{}), PositionConfig(Rotary{})}) {
    models.push_back(std::make_unique<Gpt>(gpt_of(position, dtype)));
  }
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::tanh}) {
    const RecurrentConfig stack{.cell = cell, .layers = 2, .input_dim = 6, .dim = 8, .dropout = 0.5, .dtype = dtype};
    models.push_back(std::make_unique<Rnn>(RnnConfig{.vocab = kLetters, .stack = stack}));
  }
  models.push_back(std::make_unique<Nplm>(
      NplmConfig{.vocab = kLetters, .order = 4, .embedding_dim = 4, .dim = 8, .dropout = 0.5, .dtype = dtype}));
  for (const auto& model : models) randomize(*model, seed);
  return models;
}

}  // namespace

TEST_CASE("search_texts: a beam as wide as everything finds the best texts that there are") {
  constexpr std::int64_t kTokens = 4;
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const auto& model : models_of(DType::f64, seed)) {
      for (const std::int32_t end : {kEnd, -1}) {
        CAPTURE(end);
        Oracle oracle(*model, kBeginning, end);
        for (const double length_penalty : {0.0, 0.6, 2.0}) {
          CAPTURE(length_penalty);
          const Hypotheses expected = all_continuations(oracle, kLetters, kTokens, length_penalty);
          REQUIRE(expected.size() == (end < 0 ? 256 : 121));
          for (const std::int64_t n_best : {1, 20}) {
            const BeamOptions search{.beam = 256, .length_penalty = length_penalty, .n_best = n_best};
            const TextSearchOptions options{.search = search, .tokens = kTokens, .stop_token = end};
            const Hypotheses best(expected.begin(), expected.begin() + n_best);
            CHECK(same(search_texts(*model, kBeginning, options), best, 1e-10));
          }
        }
      }
    }
  }
}

TEST_CASE("search_texts: as a plain beam search that never stops early" * long_test()) {
  std::set<std::size_t> lengths;
  std::int64_t differ_from_greedy = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const auto& model : models_of(DType::f64, seed)) {
      Oracle oracle(*model, kBeginning, kEnd);
      for (const auto& [beam, n_best] : {std::pair{1, 1}, {2, 2}, {3, 1}, {5, 4}}) {
        for (const std::int64_t tokens : {1, 2, 5}) {
          const TextSearchOptions options{
              .search = {.beam = beam, .n_best = n_best}, .tokens = tokens, .stop_token = kEnd};
          const Hypotheses found = search_texts(*model, kBeginning, options);
          CHECK(same(found, reference_search(oracle, options.search, tokens), 1e-10));
          const Ids greedy =
              generate(*model, kBeginning, {.sampling = {.temperature = 0}, .tokens = tokens, .stop_token = kEnd});
          if (beam == 1) CHECK(found.front().ids == greedy);
          differ_from_greedy += found.front().ids != greedy;
          lengths.insert(found.front().ids.size());
        }
      }
    }
  }
  CHECK(lengths.size() > 4);
  CHECK(differ_from_greedy > 20);
}

TEST_CASE("search_texts: the same bits with the cache as without, in f32 and beyond the context too") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const auto& model : models_of(dtype, 5)) {
      for (const std::int64_t beam : {1, 3, 6}) {
        for (const std::int32_t end : {-1, kEnd}) {
          TextSearchOptions options{.search = {.beam = beam, .n_best = beam}, .tokens = 20, .stop_token = end};
          const Hypotheses cached = search_texts(*model, kBeginning, options);
          options.use_cache = false;
          CHECK(same(search_texts(*model, kBeginning, options), cached, 0));
          if (end < 0) CHECK(cached.front().ids.size() == 20);
        }
      }
    }
  }
}

TEST_CASE("search_texts: a document ends a text, and the search sees the last one of the prompt alone") {
  GptConfig config = gpt_of(LearnedPositions{}, DType::f64);
  config.document_token = kEnd;
  const Gpt model(config);
  randomize(model, 6);
  const TextSearchOptions options{.search = {.beam = 3, .n_best = 3}, .tokens = 5};
  Oracle oracle(model, {kEnd, 1}, kEnd);
  const Hypotheses found = search_texts(model, Ids{3, 0, kEnd, 1}, options);
  CHECK(same(found, reference_search(oracle, options.search, 5), 1e-10));
}

TEST_CASE("search_texts: no tokens, and what is refused") {
  const Gpt model(gpt_of(LearnedPositions{}, DType::f64));
  randomize(model, 1);
  const Hypotheses none = search_texts(model, kBeginning, {.search = {.beam = 2}, .tokens = 0});
  REQUIRE(none.size() == 1);
  CHECK(none.front().ids.empty());
  CHECK_THROWS_WITH_AS(search_texts(model, {}, {}), "generate: the prompt has no tokens", Error);
  CHECK_THROWS_WITH_AS(search_texts(model, kBeginning, {.search = {.beam = 2, .n_best = 3}}),
                       "--n-best: expected 1 to 2 (--beam), got 3", UsageError);
  model.state_dict().at("token_embedding.weight").fill(NAN);
  CHECK_THROWS_WITH_AS(search_texts(model, kBeginning, {}), "generate: the model's predictions are not finite numbers",
                       Error);
}
