// Plain text from simple sources: what is drawn is what the computed entropy is of.
#include "data/synthetic/sequences.h"
#include "tests/long_test.h"

#include <doctest/doctest.h>

#include <cctype>
#include <cmath>
#include <map>

#include "core/error.h"
#include "data/synthetic/corpora.h"

using namespace tapeformer;

TEST_CASE("markov: the text has the chain's transitions, and its entropy" * long_test()) {
  const MarkovChain chain;
  const std::string text = "\n" + generate_corpus("markov", 20000, 3);
  std::map<char, double> firsts;
  std::map<std::pair<char, char>, double> pairs;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) ++firsts[text[i]], ++pairs[{text[i], text[i + 1]}];
  const double count = static_cast<double>(text.size() - 1);
  double entropy = 0;
  for (int i = 0; i < MarkovChain::kStates; ++i) {
    const char from = MarkovChain::character(i);
    CHECK(firsts[from] / count == doctest::Approx(chain.stationary()[i]).epsilon(0.02));
    double sum = 0;
    for (int j = 0; j < MarkovChain::kStates; ++j) {
      const double p = chain.transitions()[i][j], share = pairs[{from, MarkovChain::character(j)}] / firsts[from];
      sum += p;
      CHECK(std::abs(share - p) < 0.01);
      if (share > 0) entropy -= firsts[from] / count * share * std::log(share);
    }
    CHECK(sum == doctest::Approx(1));
  }
  CHECK(corpus_entropy("markov") == doctest::Approx(entropy).epsilon(1e-3));
  CHECK(firsts.size() == MarkovChain::kStates);
}

TEST_CASE("recall: the digit comes again behind 100 letters that say nothing, and labels the text before that") {
  std::map<char, int> counts;
  for (int i = 0; i < 500; ++i) {
    const std::string line = corpus_line("recall", i, 1);
    REQUIRE(line.size() == 104);
    CHECK(line.substr(101) == str_cat('=', line[0], '\n'));
    CHECK(labelled_corpus_line("recall", i, 1) == str_cat(line[0], '\t', line.substr(0, 101), '\n'));
    CHECK(line.substr(1, 100).find_first_not_of("abcdefghij") == std::string::npos);
    for (const char c : line.substr(0, 101)) ++counts[c];
  }
  CHECK(counts.size() == 20);
  for (const auto& [c, count] : counts)
    CHECK(count == doctest::Approx(c < 'a' ? 50 : 5000).epsilon(c < 'a' ? 0.5 : 0.05));
  CHECK(corpus_entropy("recall") == doctest::Approx(101 * std::log(10.0) / 104));
}

TEST_CASE("induction: 8 to 32 different letters come again and again, and the entropy is that of drawing them") {
  std::map<std::size_t, int> lengths;
  for (int i = 0; i < 2000; ++i) {
    const std::string line = corpus_line("induction", i, 1);
    REQUIRE(line.size() == 66);
    CHECK(line[65] == '\n');
    const std::size_t length = line.find(line[0], 1);
    ++lengths[length];
    for (std::size_t k = 0; k < 65; ++k) {
      const bool drawn = std::isalnum(static_cast<unsigned char>(line[k])) && line.find(line[k]) == k % length;
      if (!drawn) FAIL_CHECK(line);
    }
  }
  CHECK(lengths.size() == 25);
  CHECK((lengths.begin()->first == 8 && lengths.rbegin()->first == 32));
  for (const auto& [length, count] : lengths) CHECK(count == doctest::Approx(80).epsilon(0.4));
  // ln 25 for the length, and ln(62 · 61 · …) for the letters, by the gamma function.
  double nats = std::log(25.0);
  for (int length = 8; length <= 32; ++length) nats += (std::lgamma(63.0) - std::lgamma(63.0 - length)) / 25;
  CHECK(corpus_entropy("induction") == doctest::Approx(nats / 66).epsilon(1e-12));
}
