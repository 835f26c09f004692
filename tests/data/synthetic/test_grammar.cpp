#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "data/grammars/grammar.h"

using namespace tapeformer;

namespace {

const GrammarVariable kPet{"pet", {"name", "sound"}, {{3, {"cat", "meow"}}, {1, {"dog", "{bark}"}}}};
const std::vector<Rule> kRules = {{"bark", {{1, "woof"}, {1, "wow"}}},
                                  {"very", {{2, "so "}, {1, "very "}, {1, "oh {very2}"}}},
                                  {"very2", {{1, "so "}, {4, "dear "}}}};

}  // namespace

TEST_CASE("grammar: frequencies, probabilities and expectation agree with the enumeration of a small grammar") {
  const Grammar grammar("a {very}{pet.name}: {pet.sound}!\n", {kPet}, kRules);
  // Every line and its probability, computed by hand.
  std::map<std::string, double> lines;
  const std::pair<const char*, double> pets[] = {
      {"cat: meow!\n", 0.75}, {"dog: woof!\n", 0.125}, {"dog: wow!\n", 0.125}};
  const std::pair<const char*, double> very[] = {{"so ", 0.5}, {"very ", 0.25}, {"oh so ", 0.05}, {"oh dear ", 0.2}};
  double nats = 0, chars = 0;
  for (const auto& [pet, p] : pets) {
    for (const auto& [word, q] : very) {
      const std::string line = std::string("a ") + word + pet;
      lines[line] = p * q;
      nats -= p * q * std::log(p * q);
      chars += p * q * static_cast<double>(line.size());
    }
  }
  const LineExpectation expected = grammar.expectation();
  CHECK(expected.nats == doctest::Approx(nats).epsilon(1e-12));
  CHECK(expected.chars == doctest::Approx(chars).epsilon(1e-12));

  std::map<std::string, int> counts;
  const int n = 20000;
  RandomStream random(RandomKey{.seed = 5});
  for (int i = 0; i < n; ++i) {
    const GrammarLine line = grammar.generate(random);
    REQUIRE(lines.count(line.text) == 1);
    CHECK(line.nats == doctest::Approx(-std::log(lines[line.text])).epsilon(1e-12));
    ++counts[line.text];
  }
  for (const auto& [line, p] : lines) CHECK(std::abs(counts[line] - n * p) < 5 * std::sqrt(n * p));
}

TEST_CASE("grammar: errors name what is wrong") {
  const auto make = [](std::string start, std::vector<GrammarVariable> variables = {kPet},
                       std::vector<Rule> rules = kRules) {
    return Grammar(std::move(start), std::move(variables), std::move(rules));
  };
  CHECK_THROWS_WITH_AS(make("{none}"), "grammar: no rule is named none", Error);
  CHECK_THROWS_WITH_AS(make("{cow.name}"), "grammar: no variable is named cow", Error);
  CHECK_THROWS_WITH_AS(make("{pet.age}"), "grammar: variable pet has no column age", Error);
  CHECK_THROWS_WITH_AS(make("a {very"), "grammar: '{' without '}' in \"a {very\"", Error);
  CHECK_THROWS_WITH_AS(make("a very} b"), "grammar: '}' without '{' in \"a very} b\"", Error);
  CHECK_THROWS_WITH_AS(make("a", {}, {{"r", {{0, "x"}}}}), "grammar: r has weight 0, expected above 0", Error);
  CHECK_THROWS_WITH_AS(make("a", {}, {{"r", {}}}), "grammar: r has nothing to choose from", Error);
  CHECK_THROWS_WITH_AS(make("a", {{"v", {"x", "y"}, {{1, {"one"}}}}}), "grammar: a row of v has 1 cells for 2 columns",
                       Error);
}
