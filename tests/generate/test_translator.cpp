// What beam search finds, against searches written out plainly.
#include <set>

#include "core/profile.h"
#include "tests/generate/search_support.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

// The first time that the likeliest token is the end, or the length is the greatest.
Ids greedy(Oracle& oracle, std::int64_t max_length) {
  const SentenceSymbols& symbols = oracle.symbols();
  Ids ids;
  while (std::ssize(ids) + 1 < max_length) {
    std::vector<double> log_p = oracle.next(ids);
    log_p[symbols.begin] = log_p[symbols.padding] = -INFINITY;
    const auto best = static_cast<std::int32_t>(std::ranges::max_element(log_p) - log_p.begin());
    if (best == symbols.end) break;
    ids.push_back(best);
  }
  return ids;
}

}  // namespace

TEST_CASE("translate: a beam of one is greedy") {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-10}, {DType::f32, 1e-4}}) {
    std::set<std::size_t> lengths;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const TestTransformer model(seed, dtype);
      const std::vector<Ids> sources = random_sources(10, seed);
      for (std::int64_t max_length : {0, 1, 2, 7}) {
        const auto translations = translate(model, sources, kSymbols, {.max_length = max_length});
        for (std::size_t i = 0; i < sources.size(); ++i) {
          Oracle oracle(model, sources[i]);
          REQUIRE(translations[i].size() == 1);
          const Hypothesis& found = translations[i].front();
          CHECK(found.ids == greedy(oracle, max_length == 0 ? kContext : max_length));
          CHECK(std::abs(found.log_probability - oracle.log_probability(found.ids)) < tolerance);
          lengths.insert(found.ids.size());
        }
      }
    }
    CHECK(lengths.size() > 6);  // some end early, some only where they must
  }
}

TEST_CASE("translate: a beam as wide as everything finds the best translations that there are" * long_test()) {
  const std::int64_t vocab = 6, max_length = 5;  // three letters: 1 + 3 + 9 + 27 + 81 translations
  const PairSymbols symbols{.source = kSymbols.source, .target = {.begin = 1, .end = 4, .padding = 2}};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const TestTransformer model(seed, DType::f64, vocab);
    const std::vector<Ids> sources = random_sources(3, seed);
    std::vector<Oracle> oracles;
    for (const Ids& source : sources) oracles.emplace_back(model, source, symbols);
    for (double length_penalty : {0.0, 0.6, 1.0, 2.0}) {
      CAPTURE(length_penalty);
      for (std::int64_t n_best : {1, 10, 128}) {
        const TranslateOptions options{.search = {.beam = 128, .length_penalty = length_penalty, .n_best = n_best},
                                       .max_length = max_length};
        const auto translations = translate(model, sources, symbols, options);
        for (std::size_t i = 0; i < sources.size(); ++i) {
          Hypotheses expected = all_continuations(oracles[i], vocab, max_length, length_penalty);
          REQUIRE(expected.size() == 121);
          expected.resize(std::min<std::size_t>(n_best, 121));
          CHECK(same(translations[i], expected, 1e-10));
        }
      }
    }
  }
}

TEST_CASE("translate: as a plain beam search that never stops early" * long_test()) {
  std::set<std::size_t> lengths;
  std::int64_t differ_from_greedy = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    const TestTransformer model(seed);
    const std::vector<Ids> sources = random_sources(6, seed);
    std::vector<Oracle> oracles;
    for (const Ids& source : sources) oracles.emplace_back(model, source);
    for (const auto& [beam, n_best] : {std::pair{2, 1}, {2, 2}, {3, 1}, {4, 3}, {5, 1}, {5, 5}}) {
      for (double length_penalty : {0.0, 0.6, 1.0, 2.0}) {
        for (std::int64_t max_length : {3, 8, 12}) {
          CAPTURE(length_penalty);
          CAPTURE(max_length);
          const TranslateOptions options{.search = {.beam = beam, .length_penalty = length_penalty, .n_best = n_best},
                                         .max_length = max_length};
          CAPTURE(options.search.beam);
          const auto translations = translate(model, sources, kSymbols, options);
          for (std::size_t i = 0; i < sources.size(); ++i) {
            const Hypotheses expected = reference_search(oracles[i], options.search, max_length);
            CHECK(same(translations[i], expected, 1e-10));
            REQUIRE(std::ssize(expected) == n_best);
            lengths.insert(expected.front().ids.size());
            differ_from_greedy += expected.front().ids != greedy(oracles[i], max_length);
          }
        }
      }
    }
  }
  CHECK(lengths.size() > 8);
  CHECK(differ_from_greedy > 100);
}

TEST_CASE("translate: of equally likely continuations those of the earlier hypothesis, then of the lower id") {
  const TestTransformer model(0);
  model.state_dict().at("head.weight").fill(0);
  const std::vector<Ids> sources = random_sources(3);
  for (double length_penalty : {0.0, 1.0, 2.0}) {
    const TranslateOptions options{.search = {.beam = 4, .length_penalty = length_penalty, .n_best = 4},
                                   .max_length = 5};
    const auto translations = translate(model, sources, kSymbols, options);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      Oracle oracle(model, sources[i]);
      CHECK(same(translations[i], reference_search(oracle, options.search, 5), 1e-10));
    }
  }
  const TranslateOptions options{.search = {.beam = 2, .length_penalty = 0, .n_best = 2}, .max_length = 3};
  CHECK(ids_of(translate(model, sources, kSymbols, options)[0]) == std::vector<Ids>{{1, 1}, {1, 2}});
}

TEST_CASE("translate: an observer sees what is kept and dropped at each length, and changes nothing") {
  const TestTransformer model(1);
  const std::vector<Ids> sources = random_sources(1);
  Oracle oracle(model, sources[0]);
  TranslateOptions options{.search = {.beam = 3, .n_best = 3}, .max_length = 6};
  const auto expected = translate(model, sources, kSymbols, options);
  std::vector<Ids> kept;  // after the length before
  std::size_t calls = 0;
  options.search.observe_dropped = 4;
  options.search.observer = [&](std::size_t search, const std::vector<Ids>& hypotheses,
                                const std::vector<BeamCandidate>& candidates) {
    CHECK(search == 0);
    for (std::size_t i = 0; i < kept.size(); ++i) CHECK(hypotheses[i] == kept[i]);
    REQUIRE(candidates.size() == (calls == 5 ? std::min<std::size_t>(kept.size(), 7) : 7));
    ++calls, kept.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const BeamCandidate& candidate = candidates[i];
      CHECK(candidate.kept == (i < 3));
      CHECK(candidate.ended == (candidate.id == kSymbols.target.end));
      if (i > 0) CHECK(candidate.log_probability <= candidates[i - 1].log_probability);
      Ids ids = hypotheses[candidate.parent];
      if (candidate.ended) {
        CHECK(std::abs(candidate.log_probability - oracle.log_probability(ids)) < 1e-10);
      } else if (candidate.kept) {
        ids.push_back(candidate.id);
        kept.push_back(ids);
      }
    }
  };
  CHECK(ids_of(translate(model, sources, kSymbols, options)[0]) == ids_of(expected[0]));
  CHECK(calls > 1);
}

TEST_CASE("translate: log P is teacher forcing's, the score is as the formula says") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const TestTransformer model(seed);
    const std::vector<Ids> sources = random_sources(8, seed);
    const auto translations =
        translate(model, sources, kSymbols, {.search = {.beam = 4, .length_penalty = 0.7, .n_best = 4}});
    for (std::size_t i = 0; i < sources.size(); ++i) {
      Oracle oracle(model, sources[i]);
      for (const Hypothesis& found : translations[i]) {
        CHECK(std::abs(found.log_probability - oracle.log_probability(found.ids)) < 1e-10);
        CHECK(found.score == score_of(found.log_probability, found.ids.size(), 0.7));
      }
      // The loss of training is the mean over the tokens.
      const Ids& ids = translations[i].front().ids;
      Ids source = sources[i], inputs{kSymbols.target.begin}, targets = ids;
      source.push_back(kSymbols.source.end);
      inputs.insert(inputs.end(), ids.begin(), ids.end());
      targets.push_back(kSymbols.target.end);
      Tape tape(no_grad);
      const SourceBatch batch{row_tensor(source), Tensor::from({static_cast<std::int32_t>(source.size())}, {1})};
      const Variable loss = model.loss(batch, Variable::constant(tape, row_tensor(inputs)),
                                       Variable::constant(tape, row_tensor(targets)), {});
      const double log_p = -loss.value().item() * static_cast<double>(targets.size());
      CHECK(std::abs(translations[i].front().log_probability - log_p) < 1e-10);
    }
  }
}

TEST_CASE("translate: asks the model no further when nothing that goes on can win") {
  std::set<std::int64_t> lengths;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const TestTransformer model(seed);
    for (const Ids& source : random_sources(3, seed)) {
      Oracle oracle(model, source);
      for (const auto& [beam, n_best] : {std::pair{1, 1}, {2, 1}, {3, 2}, {5, 5}}) {
        for (double length_penalty : {0.0, 0.6, 1.0}) {
          const TranslateOptions options{.search = {.beam = beam, .length_penalty = length_penalty, .n_best = n_best}};
          std::int64_t done_at = 0, steps = 0;
          reference_search(oracle, options.search, kContext, &done_at);
          start_profile();
          translate(model, {&source, 1}, kSymbols, options);
          for (const ProfileRow& row : stop_profile()) steps += row.name == "log_softmax_forward" ? row.calls : 0;
          CHECK(steps == done_at);
          lengths.insert(steps);
        }
      }
    }
  }
  CHECK(lengths.size() > 6);
}
