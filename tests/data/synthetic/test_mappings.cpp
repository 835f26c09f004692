// The corpus of hidden mappings, and what the Bayes posterior over them knows.
#include "data/synthetic/mappings.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/synthetic/corpora.h"

using namespace tapeformer;

namespace {

using Pairs = std::vector<std::pair<char, char>>;

// Reads "a→w; k→x".
Pairs pairs_in(std::string_view text) {
  Pairs pairs;
  for (std::size_t arrow = text.find("→"); arrow != text.npos; arrow = text.find("→", arrow + 1)) {
    pairs.emplace_back(text[arrow - 1], arrow + 3 < text.size() ? text[arrow + 3] : '?');
  }
  return pairs;
}

}  // namespace

TEST_CASE("mappings: a line of 16 pairs, in which a letter always has the same output") {
  for (int i = 0; i < 200; ++i) {
    const std::string line = corpus_line("mappings", i, 2);
    const Pairs pairs = pairs_in(line);
    CHECK(pairs.size() == kMappingPairs);
    std::map<char, char> seen;
    for (const auto& [input, output] : pairs) {
      CHECK(seen.try_emplace(input, output).first->second == output);
      CHECK((input >= 'a' && input <= 'h' && output >= 'w' && output <= 'z'));
    }
  }
}

TEST_CASE("mappings: the best accuracy and the entropy are those of the posterior, estimated from drawn lines") {
  CHECK(mappings_accuracy(0) == doctest::Approx(0.25));
  for (int shots = 1; shots < kMappingPairs; ++shots) CHECK(mappings_accuracy(shots) > mappings_accuracy(shots - 1));
  // Without a table of the mappings: of all lines that agree in the first pair and the next letter, the most frequent
  // output is right.
  std::map<std::array<char, 3>, std::map<char, int>> answers;
  constexpr int kDrawn = 40000;
  for (int i = 0; i < kDrawn; ++i) {
    const Pairs pairs = pairs_in(corpus_line("mappings", i, 3).substr(0, 14));
    ++answers[{pairs[0].first, pairs[0].second, pairs[1].first}][pairs[1].second];
  }
  double right = 0;
  for (const auto& [known, counts] : answers) {
    right += std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->second;
  }
  CHECK(right / kDrawn == doctest::Approx(mappings_accuracy(1)).epsilon(0.04));
  const LineExpectation line = mappings_expectation();
  const std::string drawn = corpus_line("mappings", 1, 3);
  CHECK(line.bytes == static_cast<double>(drawn.size()));
  CHECK(line.chars == static_cast<double>(std::ranges::count_if(drawn, [](char c) { return (c & 0xC0) != 0x80; })));
  CHECK(corpus_entropy("mappings").value() == doctest::Approx(line.nats / line.chars));
  CHECK(corpus_entropy_per_byte("mappings").value() == doctest::Approx(line.nats / line.bytes));
  // The letters alone have ln 8 each, and a mapping adds at most ln 16.
  const double letters = kMappingPairs * std::log(kMappingInputs), nats = line.nats;
  CHECK(nats > letters + 0.95 * std::log(kMappings));
  CHECK(nats < letters + std::log(kMappings));
}

TEST_CASE("mappings: questions hold their examples, all options, the answer and the optimum") {
  RandomStream random(RandomKey{.seed = 4});
  const auto question = nlohmann::ordered_json::parse(mappings_question(random, 3));
  const std::string prompt = question["prompt"];
  CHECK(pairs_in(prompt).size() == 4);
  CHECK(prompt.ends_with("→"));
  CHECK(question["options"] == nlohmann::ordered_json{"w", "x", "y", "z"});
  CHECK(question["group"] == 3);
  CHECK(question["optimum"].get<double>() == doctest::Approx(mappings_accuracy(3)));
  CHECK_THROWS_WITH_AS(mappings_question(random, 16), "mappings: expected 0 to 15 examples, got 16", Error);
}
