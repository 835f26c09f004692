// Generated plain text whose entropy rate can be computed: a Markov chain, the recall of a symbol over a distance, and
// sequences that are repeated.
#pragma once

#include <array>
#include <string>

#include "core/random.h"
#include "data/grammars/grammar.h"

namespace tapeformer {

// A Markov chain of first order over the letters a to l and the newline: only the last character of the text gives
// information about the next one.
class MarkovChain {
 public:
  static constexpr int kStates = 13;  // state 0 is the newline, 1 to 12 are a to l
  using Matrix = std::array<std::array<double, kStates>, kStates>;

  MarkovChain();
  // P(next state | state); the same in every program.
  const Matrix& transitions() const { return transitions_; }
  // The share of each state in an infinitely long text.
  const std::array<double, kStates>& stationary() const { return stationary_; }
  // The entropy rate −Σ_i π_i Σ_j P_ij ln P_ij, in nats per character.
  double entropy_rate() const;

  static char character(int state) { return state == 0 ? '\n' : static_cast<char>('a' + state - 1); }
  // Draws one line: from a newline to the next one.
  std::string line(RandomStream& random) const;

 private:
  Matrix transitions_{};
  std::array<double, kStates> stationary_{};
};

// The chain of the corpus `markov`.
const MarkovChain& markov_chain();
std::string markov_line(RandomStream& random);
LineExpectation markov_expectation();

// Draws a digit, 100 random letters a to j, an equals sign, and the digit again (after task 2 of Hochreiter &
// Schmidhuber 1997): "7bfa…ce=7". A model that has forgotten the digit loses ln 10 = 2.303 nats where it comes again.
// The first digit and the letters cannot be predicted.
inline constexpr int kRecallDistance = 100;
inline constexpr int kRecallKinds = 10;  // the number of different digits, and of different letters
std::string recall_line(RandomStream& random);
// Draws such a line as a labelled text: the digit, a tab, and the digit with the letters. A classifier that reads the
// vector of the last letter has to recall the digit.
std::string labelled_recall_line(RandomStream& random);
LineExpectation recall_expectation();

// Draws n different letters or digits, 8 ≤ n ≤ 32, and repeats them until the line has 65 characters: "r r r …" (Elhage
// et al. 2021). From character n + 2 on, each character can be known: it is the one that followed the earlier
// occurrence of the character before it. Since n differs from line to line, no fixed distance leads there. In windows
// of 66 characters, which are a line each, all characters with 33 to 64 before them can be known.
inline constexpr int kInductionLength = 65, kShortestRepeated = 8, kLongestRepeated = 32;
std::string induction_line(RandomStream& random);
LineExpectation induction_expectation();

}  // namespace tapeformer
