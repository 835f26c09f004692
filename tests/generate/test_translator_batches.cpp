// What beam search must not depend on, its limits and its errors.
#include <limits>
#include <numeric>
#include <set>

#include "tests/generate/search_support.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

std::vector<Hypotheses> translate_all(const Transformer& model, const std::vector<Ids>& sources,
                                      const TranslateOptions& options) {
  return translate(model, sources, kSymbols, options);
}

void set_parameter(const Transformer& model, const std::string& name, std::int64_t row, double value) {
  const Tensor values = model.state_dict().at(name).slice(0, row, row + 1);
  values.copy_from(Tensor::full(values.sizes(), values.dtype(), value));
}

}  // namespace

TEST_CASE("translate: with the cache the same translations as without" * long_test()) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const TestTransformer model(seed), model_f32(seed, DType::f32);
    const std::vector<Ids> sources = random_sources(20, seed);
    for (std::int64_t beam : {1, 3, 5}) {
      for (std::int64_t max_length : {0, 6}) {
        CAPTURE(beam);
        TranslateOptions options{.search = {.beam = beam, .n_best = beam}, .batch = 8, .max_length = max_length};
        const auto cached = translate_all(model, sources, options),
                   cached_f32 = translate_all(model_f32, sources, options);
        options.use_cache = false;
        const auto full = translate_all(model, sources, options), full_f32 = translate_all(model_f32, sources, options);
        for (std::size_t i = 0; i < sources.size(); ++i) {
          CHECK(same(cached[i], full[i], 1e-12));
          CHECK(same(cached_f32[i], full_f32[i], 1e-4));
          CHECK(ids_of(cached[i]) == ids_of(cached_f32[i]));
        }
      }
    }
  }
}

TEST_CASE("translate: a sentence's translations do not depend on the others, nor on their order" * long_test()) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const TestTransformer model(seed);
    const std::vector<Ids> sources = random_sources(70, seed);
    for (std::int64_t beam : {1, 2, 5}) {
      CAPTURE(beam);
      TranslateOptions options{.search = {.beam = beam, .n_best = (beam + 1) / 2}};
      std::vector<Hypotheses> alone;
      for (const Ids& source : sources) alone.push_back(translate_all(model, {source}, options)[0]);
      std::vector<std::size_t> order(sources.size());
      std::iota(order.begin(), order.end(), 0);
      RandomStream random(RandomKey{.seed = seed});
      for (std::int64_t batch : {1, 7, 64, 1000}) {
        for (bool use_cache : {true, false}) {
          options.batch = batch;
          options.use_cache = use_cache;
          std::vector<Ids> shuffled;
          for (std::size_t i : order) shuffled.push_back(sources[i]);
          const auto together = translate_all(model, shuffled, options);
          REQUIRE(together.size() == sources.size());
          for (std::size_t i = 0; i < order.size(); ++i) CHECK(same(together[i], alone[order[i]], 1e-12));
        }
        for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
      }
    }
  }
}

TEST_CASE("translate: in f32 too, scores have the same bits whatever stands beside a sentence" * long_test()) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const TestTransformer model(seed, DType::f32);
    const std::vector<Ids> sources = random_sources(80, seed);
    for (std::int64_t beam : {1, 4}) {
      for (bool use_cache : {true, false}) {
        CAPTURE(seed);
        CAPTURE(beam);
        CAPTURE(use_cache);
        TranslateOptions options{
            .search = {.beam = beam, .length_penalty = 0.6, .n_best = beam}, .batch = 1, .use_cache = use_cache};
        const auto alone = translate_all(model, sources, options);
        for (std::int64_t batch : {3, 64}) {
          options.batch = batch;
          const auto together = translate_all(model, sources, options);
          int different = 0;
          for (std::size_t i = 0; i < sources.size(); ++i) different += !same(together[i], alone[i], 0);
          CHECK(different == 0);
        }
        options.use_cache = !use_cache;
        const auto otherwise = translate_all(model, sources, options);
        int different = 0;
        for (std::size_t i = 0; i < sources.size(); ++i) different += !same(otherwise[i], alone[i], 0);
        CHECK(different == 0);
      }
    }
  }
}

TEST_CASE("translate: no translation is longer than asked for, and none has symbols in it" * long_test()) {
  std::vector<Ids> sources = random_sources(10);
  sources.push_back({4});
  sources.push_back(Ids(kContext - 1, 6));
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const TestTransformer model(seed);
    for (std::int64_t max_length : {0, 1, 2, 7, 12, 13, 1000}) {
      CAPTURE(max_length);
      std::set<std::size_t> lengths;
      const TranslateOptions options{.search = {.beam = 4, .length_penalty = 2, .n_best = 4}, .max_length = max_length};
      for (const Hypotheses& translations : translate_all(model, sources, options)) {
        for (const Hypothesis& hypothesis : translations) {
          lengths.insert(hypothesis.ids.size());
          for (std::int32_t id : hypothesis.ids) {
            CHECK((id != kSymbols.target.begin && id != kSymbols.target.end && id != kSymbols.target.padding));
          }
        }
        CHECK(translations.size() == (max_length == 1 ? 1 : 4));  // of one token there is the end alone
      }
      CHECK(*lengths.rbegin() == (max_length == 0 || max_length > kContext ? kContext : max_length) - 1);
    }
  }
}

TEST_CASE("translate: symbols that the model would choose are left out" * long_test()) {
  const TestTransformer model(0);
  const std::vector<Ids> sources = random_sources(6);
  // Two tokens as likely as the likeliest letter.
  const Tensor head = model.state_dict().at("head.weight");
  for (std::int32_t letter = 6; letter < kTargetVocab; ++letter) {
    for (std::int32_t symbol : {kSymbols.target.begin, kSymbols.target.padding}) {
      head.slice(0, symbol, symbol + 1).copy_from(head.slice(0, letter, letter + 1));
    }
    const TranslateOptions options{.search = {.beam = 3, .n_best = 3}};
    const auto translations = translate_all(model, sources, options);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      Oracle oracle(model, sources[i]);
      CHECK(same(translations[i], reference_search(oracle, options.search, kContext), 1e-10));
    }
  }
}

TEST_CASE("translate: the end may be the symbol of the beginning, or of padding" * long_test()) {
  const TestTransformer model(1);
  const std::vector<Ids> sources = random_sources(10);
  for (const SentenceSymbols& target :
       {SentenceSymbols{.begin = 3, .end = 3, .padding = 0}, SentenceSymbols{.begin = 5, .end = 3, .padding = 3}}) {
    const PairSymbols symbols{.source = kSymbols.source, .target = target};
    const TranslateOptions options{.search = {.beam = 3, .n_best = 2}};
    const auto translations = translate(model, sources, symbols, options);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      Oracle oracle(model, sources[i], symbols);
      CHECK(same(translations[i], reference_search(oracle, options.search, kContext), 1e-10));
    }
  }
}

TEST_CASE("translate: tells its progress, from sentence to sentence up to all of them") {
  const TestTransformer model(0);
  for (std::int64_t count : {1, 2, 9}) {
    for (std::int64_t batch : {1, 4, 64}) {
      std::vector<double> told;
      translate(model, random_sources(count), kSymbols, {.batch = batch, .max_length = 3},
                [&](double share) { told.push_back(share); });
      REQUIRE(std::ssize(told) == (count + batch - 1) / batch);
      CHECK(told.front() > 0);
      CHECK(std::ranges::adjacent_find(told, std::greater_equal<>()) == told.end());
      CHECK(told.back() == 1);
    }
  }
  CHECK(translate(model, {}, kSymbols, {}, [](double) { FAIL("nothing to tell"); }).empty());
}

TEST_CASE("translate: errors for sources that are empty or too long, and for ids outside the vocabulary") {
  const TestTransformer model(0);
  const auto translate_with = [&](const Ids& second) { translate_all(model, {{3, 4}, second}, {}); };
  CHECK_THROWS_WITH_AS(translate_with({}), "translate: source 2 has 1 tokens with its end, expected 2 to 12", Error);
  CHECK_THROWS_WITH_AS(translate_with(Ids(kContext, 3)),
                       "translate: source 2 has 13 tokens with its end, expected 2 to 12", Error);
  CHECK_THROWS_WITH_AS(translate_with({9}), "embedding: id 9 at place 0 is outside of the table's 9 rows", Error);
  PairSymbols symbols = kSymbols;
  for (std::int32_t end : {-1, 11}) {
    symbols.target.end = end;
    CHECK_THROWS_WITH_AS(translate(model, random_sources(1), symbols, {}),
                         str_cat("translate: the end's id is ", end, ", expected 0 to 10").c_str(), Error);
  }
}

TEST_CASE("translate: an error for a model whose predictions are no numbers, which names the source") {
  const std::vector<Ids> sources = {{3, 4, 4, 4}, {5}, {6, 6, 3}};
  for (double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (std::int64_t beam : {1, 3}) {
      for (bool use_cache : {true, false}) {
        const TranslateOptions options{.search = {.beam = beam}, .use_cache = use_cache};
        const TestTransformer one_source(0), one_target(0);
        set_parameter(one_source, "source_embedding.weight", 5, value);
        CHECK_THROWS_WITH_AS(translate_all(one_source, sources, options),
                             "translate: source 2: the model's predictions are not finite numbers", Error);
        set_parameter(one_target, "head.weight", 7, value);
        CHECK_THROWS_AS(translate_all(one_target, sources, options), Error);
      }
    }
  }
}

TEST_CASE("translate: errors for options out of range") {
  const auto message = [](const TranslateOptions& options) -> std::string {
    try {
      translate(TestTransformer(0), random_sources(1), kSymbols, options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message({.search = {.beam = 3, .length_penalty = 0, .n_best = 3}, .batch = 1}).empty());
  CHECK(message({.search = {.beam = 0}}) == "--beam: expected at least 1, got 0");
  CHECK(message({.search = {.beam = 3, .n_best = 4}}) == "--n-best: expected 1 to 3 (--beam), got 4");
  CHECK(message({.search = {.n_best = 0}}) == "--n-best: expected 1 to 1 (--beam), got 0");
  CHECK(message({.search = {.length_penalty = -0.1}}) == "--length-penalty: expected at least 0, got -0.1");
  CHECK(message({.search = {.length_penalty = NAN}}) == "--length-penalty: expected at least 0, got nan");
  CHECK(message({.batch = 0}) == "--batch: expected at least 1, got 0");
  CHECK(message({.max_length = -1}) == "--max-length: expected at least 1 token, got -1");
}
