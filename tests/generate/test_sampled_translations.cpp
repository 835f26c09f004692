// Translations that are drawn at random.
#include <set>

#include "tests/generate/search_support.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

std::vector<Hypotheses> drawn(const EncoderDecoder& model, const std::vector<Ids>& sources, std::uint64_t seed,
                              const SamplingOptions& sampling = {}, std::int64_t max_length = 0) {
  return translate(model, sources, kSymbols, {.sampling = sampling, .seed = seed, .max_length = max_length});
}

}  // namespace

TEST_CASE("translate: at temperature 0, a drawn translation is the greedy one") {
  for (const std::uint64_t seed : {0, 1, 2}) {
    const TestTransformer model(seed);
    const std::vector<Ids> sources = random_sources(10, seed);
    for (const std::int64_t max_length : {0, 1, 5}) {
      const auto greedy = translate(model, sources, kSymbols, {.max_length = max_length});
      const auto sampled = drawn(model, sources, 1, {.temperature = 0}, max_length);
      for (std::size_t i = 0; i < sources.size(); ++i) CHECK(ids_of(sampled[i]) == ids_of(greedy[i]));
    }
  }
}

TEST_CASE("translate: what is drawn depends on the source and the seed, not on the batch, the cache or other sources") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const TestTransformer model(2, dtype);
    const std::vector<Ids> sources = random_sources(40);
    TranslateOptions options{.sampling = SamplingOptions{.temperature = 1.5, .top_k = 8}, .seed = 3, .batch = 1};
    const auto alone = translate(model, sources, kSymbols, options);
    for (const std::int64_t batch : {7, 64}) {
      for (const bool use_cache : {true, false}) {
        options.batch = batch, options.use_cache = use_cache;
        const auto together = translate(model, sources, kSymbols, options);
        for (std::size_t i = 0; i < sources.size(); ++i) CHECK(same(together[i], alone[i], 0));
      }
    }
    options.seed = 4;
    const auto others = translate(model, sources, kSymbols, options);
    int different = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) different += ids_of(others[i]) != ids_of(alone[i]);
    CHECK(different > 30);
  }
}

TEST_CASE("translate: drawn translations have no symbols in them, end in time, and are told with their log P") {
  const TestTransformer model(1);
  const std::vector<Ids> sources = random_sources(30);
  for (const std::int64_t max_length : {1, 4, 0}) {
    std::set<std::size_t> lengths;
    const auto translations = drawn(model, sources, 5, {.temperature = 2}, max_length);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      REQUIRE(translations[i].size() == 1);
      const Hypothesis& found = translations[i].front();
      Oracle oracle(model, sources[i]);
      CHECK(std::abs(found.log_probability - oracle.log_probability(found.ids)) < 1e-5);  // of f32 logits
      CHECK(found.score == found.log_probability);
      for (const std::int32_t id : found.ids) {
        CHECK((id != kSymbols.target.begin && id != kSymbols.target.end && id != kSymbols.target.padding));
      }
      lengths.insert(found.ids.size());
    }
    CHECK(*lengths.rbegin() + 1 <= static_cast<std::size_t>(max_length == 0 ? kContext : max_length));
    CHECK(lengths.size() > (max_length == 1 ? 0 : 2));
  }
}

TEST_CASE("translate: the frequencies of drawn first tokens are the model's probabilities, without the symbols" *
          long_test()) {
  const TestTransformer model(0);
  const Ids source{4, 5, 6};
  Oracle oracle(model, source);
  std::vector<double> p = oracle.next({}), counts(p.size());
  double total = 0;
  for (double& value : p) total += value = std::exp(value);
  for (const std::int32_t symbol : {kSymbols.target.begin, kSymbols.target.padding})
    total -= std::exchange(p[symbol], 0);
  const int draws = 2000;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Ids ids = drawn(model, {source}, seed, {}, 2)[0].front().ids;
    ++counts[ids.empty() ? kSymbols.target.end : ids[0]];
  }
  for (std::size_t id = 0; id < p.size(); ++id) {
    CAPTURE(id);
    const double share = p[id] / total;
    CHECK(std::abs(counts[id] - draws * share) < 5 * std::sqrt(draws * share * (1 - share)) + 1);
  }
}

TEST_CASE("translate: sampling refuses options out of range and predictions that are no numbers") {
  const TestTransformer model(0);
  CHECK_THROWS_WITH_AS(drawn(model, random_sources(1), 1, {.temperature = -1}),
                       "--temperature: expected 0 or more, got -1", UsageError);
  model.state_dict().at("head.weight").fill(NAN);
  CHECK_THROWS_WITH_AS(drawn(model, random_sources(1), 1),
                       "translate: source 1: the model's predictions are not finite numbers", Error);
}
