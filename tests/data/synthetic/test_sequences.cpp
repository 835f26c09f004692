// Plain text from simple sources: what is drawn is what the computed entropy is of.
#include "data/synthetic/sequences.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "data/synthetic/corpora.h"

using namespace tapeformer;

TEST_CASE("markov: the text has the chain's transitions, and its entropy") {
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
